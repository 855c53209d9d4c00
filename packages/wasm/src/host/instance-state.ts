import { engine, type WasmGlobal, type WasmInstance, type WasmMemory, type WasmTable } from './engine.ts';
import { GLOBAL_EXPORT_PREFIX, MEMORY_EXPORT, RESTORABLE_EXPORT, TABLE_EXPORT_PREFIX } from './meter-names.ts';

/** An instance as it was before any code of the guest ran. */
export interface InstanceState {
  /** Puts everything back that a call can change. False: something cannot be, and the instance must go. */
  restore(): boolean;
}

interface KeptGlobal {
  readonly global: WasmGlobal;
  readonly value: unknown;
}

interface KeptTable {
  readonly table: WasmTable & { set(index: number, value: unknown): void };
  readonly elements: readonly unknown[];
}

/** Copying more takes longer than making another instance. */
const MOST_COPIED_BYTES: number = 8 * 1024 * 1024;
const MOST_ELEMENTS = 20_000;

/** Undefined when the module has state that nobody can reach, or more than is worth copying. */
export function keepState({ exports }: WasmInstance): InstanceState | undefined {
  if (!(RESTORABLE_EXPORT in exports)) return undefined;
  const memory = exports[MEMORY_EXPORT] as WasmMemory | undefined;
  const size = memory?.buffer.byteLength ?? 0;
  const named = Object.entries(exports);
  const globals = named.filter(([name]) => name.startsWith(GLOBAL_EXPORT_PREFIX)).map(([, each]) => keptGlobal(each));
  const tables = named.filter(([name]) => name.startsWith(TABLE_EXPORT_PREFIX)).map(([, each]) => keptTable(each));
  const elements = tables.reduce((sum, table) => sum + table.elements.length, 0);
  if (size > MOST_COPIED_BYTES || elements > MOST_ELEMENTS) return undefined;
  const kept = memory === undefined ? undefined : trimmed(new Uint8Array(memory.buffer));
  return {
    restore() {
      // SECURITY: T-27 — what has grown cannot shrink, and what lies beyond would be there for the next call.
      if (memory !== undefined && memory.buffer.byteLength !== size) return false;
      if (tables.some(({ table, elements: before }) => table.length !== before.length)) return false;
      if (memory !== undefined && kept !== undefined) putBack(new Uint8Array(memory.buffer), kept);
      for (const { global, value } of globals) global.value = value;
      for (const { table, elements: before } of tables) {
        for (const [at, element] of before.entries()) table.set(at, element);
      }
      return true;
    },
  };
}

function keptGlobal(exported: unknown): KeptGlobal {
  if (!(exported instanceof engine.Global)) throw new Error('A global of the meter is not one.');
  return { global: exported, value: exported.value };
}

function keptTable(exported: unknown): KeptTable {
  const table = exported as KeptTable['table'];
  return { table, elements: Array.from({ length: table.length }, (_, at) => table.get(at)) };
}

/** Behind the last byte that is not zero everything is. */
function trimmed(memory: Uint8Array): Uint8Array {
  let end = memory.length;
  while (end > 0 && memory[end - 1] === 0) end -= 1;
  return memory.slice(0, end);
}

/** SECURITY: T-27 — all of it, whether the call wrote there or not. */
function putBack(memory: Uint8Array, kept: Uint8Array): void {
  memory.set(kept);
  memory.fill(0, kept.length);
}
