/** What one call may use; the WasmPluginRunnerPolicy of the seeds, but for what it may reach. */
export interface WasmLimits {
  readonly moduleBytes: number;
  readonly fuel: number;
  /** Pages of 64 KiB. */
  readonly memoryPages: number;
  readonly tableElements: number;
  /** Metering, starting its host and compiling included; waiting for other calls is not. */
  readonly wallMs: number;
  readonly outputBytes: number;
  /** What is beyond is left out. */
  readonly logBytes: number;
  readonly hostCalls: number;
  /** Of all files that it makes or changes. */
  readonly fileBytes: number;
}

const MIB = 1024 * 1024;

/** Real programs run under them; a runaway ends within seconds. */
export const DEFAULT_WASM_LIMITS: WasmLimits = Object.freeze({
  moduleBytes: 32 * MIB,
  fuel: 1_000_000_000,
  memoryPages: 1_024,
  tableElements: 100_000,
  wallMs: 5_000,
  outputBytes: MIB,
  logBytes: 64 * 1024,
  hostCalls: 1_000,
  fileBytes: 16 * MIB,
});
