/** Codes are API: add one, never rename one. Why a call gave no result. */
export const WASM_FAILURES = {
  disabled: 'The operator has switched WebAssembly off.',
  invalid_module: 'The module is not one that can be run here.',
  capability_denied: 'The module wants, or tried to use, what it was not granted.',
  fuel_exhausted: 'It used up its fuel.',
  depth_exceeded: 'Its calls went deeper than they may.',
  memory_exceeded: 'It asked for more memory than it may have.',
  timed_out: 'It took longer than it may.',
  trapped: 'It stopped by itself in the middle.',
  output_too_large: 'It put out more than it may.',
  host_error: 'Something around the guest failed, or it asked too much of it.',
} as const;

export type WasmFailureKind = keyof typeof WASM_FAILURES;

/** What a call cost, whatever became of it. */
export interface WasmSpent {
  /** All that was given when it ended by a trap of its own. */
  readonly fuelUsed: number;
  /** Calls of our host functions, by the guest's host; those that palyrad answered are in `asked`. */
  readonly hostCalls: number;
  readonly asked: readonly AskedCall[];
  readonly memoryPages: number;
  /** Whether the instance was used before, and put back. */
  readonly reused: boolean;
  /** `log` and standard error. */
  readonly log: Uint8Array;
  /** In milliseconds, from when it had a host to itself. */
  readonly wallMs: number;
}

/** One host call that palyrad answered. */
export interface AskedCall {
  readonly function: string;
  readonly status: number;
}

export type WasmOutcome<About = unknown> =
  | (WasmSpent & {
      readonly kind: 'completed';
      readonly output: Uint8Array;
      /** Of a WASI command; 0 otherwise. */
      readonly exitCode: number;
      readonly host: About;
    })
  | (WasmSpent & {
      readonly kind: 'failed';
      readonly failure: WasmFailureKind;
      readonly message: string;
      readonly fix: string | undefined;
      /** Absent: no guest code ran. */
      readonly host: About | undefined;
    })
  | (WasmSpent & { readonly kind: 'cancelled'; readonly host: About | undefined });

export const NOTHING_SPENT: WasmSpent = {
  fuelUsed: 0,
  hostCalls: 0,
  asked: [],
  memoryPages: 0,
  reused: false,
  log: new Uint8Array(0),
  wallMs: 0,
};

export function failedBefore(
  failure: WasmFailureKind,
  message: string = WASM_FAILURES[failure],
  fix?: string,
): Extract<WasmOutcome<never>, { kind: 'failed' }> {
  return { kind: 'failed', failure, message, fix, host: undefined, ...NOTHING_SPENT };
}
