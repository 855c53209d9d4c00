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
} from './engine.ts';
export {
  INSTRUMENTER_VERSION,
  type InstrumentedModule,
  type InstrumentResult,
  instrument,
  type RefusedModule,
} from './instrument.ts';
export { createInstrumenter, type Instrumenter } from './instrument-off-loop.ts';
export { createInstrumentedCache, type InstrumentedCache, type InstrumentedCacheDeps } from './instrumented-cache.ts';
export { completeLimits, DEFAULT_LIMITS, type ModuleLimits } from './limits.ts';
export {
  DEFAULT_STACK_SLOTS,
  GUEST_STACK_MIB,
  type Meter,
  type MeterBudget,
  openMeter,
  type Spent,
} from './meter.ts';
export { FUEL_EXPORT, RESERVED_PREFIX, STACK_EXPORT, START_EXPORT } from './meter-names.ts';
export { WASM_ERRORS, WasmError, type WasmErrorCode } from './wasm-error.ts';
