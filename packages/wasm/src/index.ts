export { type CheckedGuest, checkGuest, type GuestAbi } from './check-guest.ts';
export {
  createWasmRuntime,
  type PreparedProgram,
  type WasmCall,
  type WasmProgram,
  type WasmRuntime,
  type WasmRuntimeDeps,
} from './create-wasm-runtime.ts';
export {
  describeModule,
  type FunctionSignature,
  type ModuleExport,
  type ModuleImport,
  type ModuleInterface,
  type PortKind,
  type ValueTypeName,
} from './describe-module.ts';
export {
  engine,
  type WasmEngine,
  type WasmGlobal,
  type WasmImports,
  type WasmInstance,
  type WasmMemory,
  type WasmModule,
  type WasmSize,
  type WasmTable,
} from './host/engine.ts';
export { GUEST_STACK_MIB } from './host/guest-stack.ts';
export { ANSWER, type AskedFunction, type GrantedEntry, type GrantedPrefix } from './host/messages.ts';
export { FUEL_EXPORT, RESERVED_PREFIX, STACK_EXPORT, START_EXPORT } from './host/meter-names.ts';
export type { HostEnd, HostOrder, HostProcess, StartedHost, StartHost } from './host-process.ts';
export { hostProgramUrl } from './host-program-url.ts';
export type { HostAnswer } from './host-session.ts';
export {
  INSTRUMENTER_VERSION,
  type InstrumentedModule,
  type InstrumentResult,
  instrument,
  type RefusedModule,
} from './instrument.ts';
export { createInstrumenter, type Instrumenter } from './instrument-off-loop.ts';
export { createInstrumentedCache, type InstrumentedCache, type InstrumentedCacheDeps } from './instrumented-cache.ts';
export { DEFAULT_LANE_LIMITS, type LaneLimits } from './lane-limits.ts';
export { completeLimits, DEFAULT_LIMITS, type ModuleLimits } from './limits.ts';
export {
  DEFAULT_STACK_SLOTS,
  type Meter,
  type MeterBudget,
  openMeter,
  type Spent,
} from './meter.ts';
export { WASM_ERRORS, WasmError, type WasmErrorCode } from './wasm-error.ts';
export { grantedFunctions, HOST_FUNCTIONS, NO_GRANTS, type WasmGrants } from './wasm-grants.ts';
export { DEFAULT_WASM_LIMITS, type WasmLimits } from './wasm-limits.ts';
export {
  type AskedCall,
  WASM_FAILURES,
  type WasmFailureKind,
  type WasmOutcome,
  type WasmSpent,
} from './wasm-outcome.ts';
