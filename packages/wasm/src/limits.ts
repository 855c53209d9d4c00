import { WasmError } from './wasm-error.ts';

/** What a module may hold and ask for. Everything is compared before V8 sees a byte. */
export interface ModuleLimits {
  readonly moduleBytes: number;
  readonly sections: number;
  readonly types: number;
  /** Parameters and results of one type, each. */
  readonly arity: number;
  readonly imports: number;
  readonly exports: number;
  readonly functions: number;
  readonly globals: number;
  readonly bodyBytes: number;
  /** Parameters and locals of one function. */
  readonly locals: number;
  /** Of all functions together: a declaration of three bytes makes V8 set aside thousands. */
  readonly totalLocals: number;
  readonly nesting: number;
  readonly branchTargets: number;
  /** What a compiler has to look at again while it reads one function: `compile-work.ts` says how it is counted. */
  readonly compileWork: number;
  /** Of all functions together. */
  readonly totalCompileWork: number;
  readonly tables: number;
  /** A table is refused when it begins larger, and cannot grow beyond. */
  readonly tableElements: number;
  /** The same for tables of exceptions, each of which is an object on V8's heap. */
  readonly exceptionElements: number;
  readonly elementSegments: number;
  readonly dataSegments: number;
  readonly tags: number;
  /** Values that one exception carries. */
  readonly tagValues: number;
  /** Pages of 64 KiB. A memory is refused when it begins larger, and cannot grow beyond. */
  readonly memoryPages: number;
}

export const DEFAULT_LIMITS: ModuleLimits = Object.freeze({
  moduleBytes: 32 * 1024 * 1024,
  sections: 256,
  types: 20_000,
  arity: 128,
  imports: 2_000,
  exports: 20_000,
  functions: 100_000,
  globals: 50_000,
  bodyBytes: 1024 * 1024,
  locals: 10_000,
  totalLocals: 4_000_000,
  nesting: 1_024,
  branchTargets: 16_384,
  compileWork: 4_000_000,
  totalCompileWork: 64_000_000,
  tables: 16,
  tableElements: 100_000,
  exceptionElements: 1_000,
  elementSegments: 20_000,
  dataSegments: 50_000,
  tags: 1_000,
  tagValues: 32,
  memoryPages: 1_024,
});

/** V8's own limits, less what the meter adds: beyond them its refusal would come after the work. */
const MOST: ModuleLimits = {
  moduleBytes: 512 * 1024 * 1024,
  sections: 100_000,
  types: 900_000,
  arity: 1_000,
  imports: 1_000_000,
  exports: 900_000,
  functions: 1_000_000,
  globals: 900_000,
  bodyBytes: 7_000_000,
  locals: 49_990,
  totalLocals: 1_000_000_000,
  nesting: 100_000,
  branchTargets: 65_520,
  compileWork: Number.MAX_SAFE_INTEGER,
  totalCompileWork: Number.MAX_SAFE_INTEGER,
  tables: 10_000,
  tableElements: 0xffff_ffff,
  exceptionElements: 0xffff_ffff,
  elementSegments: 10_000_000,
  dataSegments: 100_000,
  tags: 1_000_000,
  tagValues: 1_000,
  memoryPages: 65_536,
};

/** The defaults with some changed. Throws `WasmError` for what is no whole number or more than V8 takes. */
export function completeLimits(changed: Partial<ModuleLimits> = {}): ModuleLimits {
  const limits = { ...DEFAULT_LIMITS, ...changed };
  for (const name of Object.keys(MOST) as (keyof ModuleLimits)[]) {
    const value = limits[name];
    if (Number.isSafeInteger(value) && value >= 0 && value <= MOST[name]) continue;
    throw new WasmError('wasm.bad_limits', `${name} is ${String(value)}.`, {
      fix: `Give a whole number from 0 to ${MOST[name]}.`,
    });
  }
  return limits;
}
