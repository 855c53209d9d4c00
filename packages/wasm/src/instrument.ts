import { type Sha256Hex, sha256Hex } from '@palyra/primitives';
import { engine, type WasmSize } from './host/engine.ts';
import { completeLimits, type ModuleLimits } from './limits.ts';
import type { ModuleShape } from './module-shape.ts';
import { planBodies } from './plan-bodies.ts';
import { readModule } from './read-module.ts';
import { WasmError, type WasmErrorCode } from './wasm-error.ts';
import { writeModule } from './write-module.ts';

/** Changes whenever the same module would be metered differently: fuel is a promise, and caches hold to it. */
export const INSTRUMENTER_VERSION = 3;

export interface InstrumentedModule {
  readonly kind: 'instrumented';
  /** Runs as the module does, as long as there is fuel. */
  readonly bytes: Uint8Array;
  readonly digest: Sha256Hex;
  /** Of the module as it came. */
  readonly sourceDigest: Sha256Hex;
  /** What the memory must be made with that the module imports, if it does: V8 links no other. */
  readonly importedMemory: WasmSize | undefined;
}

export interface RefusedModule {
  readonly kind: 'refused';
  readonly code: WasmErrorCode;
  readonly reason: string;
  readonly fix: string | undefined;
}

export type InstrumentResult = InstrumentedModule | RefusedModule;

/**
 * Meters a module: the same results and traps, and deterministic fuel. Refusals are values; throws only when the limits
 * make no sense. It takes time in proportion to the module: `instrumentOffLoop` does it beside the main loop.
 */
export function instrument(bytes: Uint8Array, changed: Partial<ModuleLimits> = {}): InstrumentResult {
  const limits = completeLimits(changed);
  // SECURITY: T-26 — a copy: whoever shares the caller's buffer could change it between validating and writing.
  const own = new Uint8Array(bytes);
  try {
    const shape = readModule(own, limits);
    const plan = planBodies(shape, limits);
    refuseInvalid(own);
    const metered = writeModule(shape, plan);
    checkMetered(metered);
    return {
      kind: 'instrumented',
      bytes: metered,
      digest: sha256Hex(metered),
      sourceDigest: sha256Hex(own),
      importedMemory: importedMemoryOf(shape, limits),
    };
  } catch (error) {
    if (!(error instanceof WasmError)) throw error;
    return { kind: 'refused', code: error.code, reason: error.message, fix: error.fix };
  }
}

/**
 * SECURITY: T-26 — before anything is added: an index that points just behind the guest's own globals or locals is
 * invalid now, and would be our counter afterwards.
 */
function refuseInvalid(bytes: Uint8Array): void {
  if (engine.validate(bytes)) return;
  throw new WasmError('wasm.invalid', 'V8 does not accept the module as it came.', {
    fix: 'Build the module again; a validator names the place.',
  });
}

/** SECURITY: T-26 — what we wrote is not trusted more than what we read: V8 has the last word. */
function checkMetered(metered: Uint8Array): void {
  if (engine.validate(metered)) return;
  throw new WasmError('wasm.instrumentation_failed', 'The metered module is not valid.', {
    fix: 'Report this module; it is not run.',
  });
}

function importedMemoryOf({ resizables }: ModuleShape, limits: ModuleLimits): WasmSize | undefined {
  const memory = resizables.find(({ kind, imported }) => kind === 'memory' && imported);
  if (memory === undefined) return undefined;
  const { minimum, maximum } = memory.limits;
  return { initial: minimum, maximum: Math.min(maximum ?? limits.memoryPages, limits.memoryPages) };
}
