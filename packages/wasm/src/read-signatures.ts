import { type Cursor, readByte, readU32 } from './cursor.ts';
import type { ModuleLimits } from './limits.ts';
import type { FunctionType } from './module-shape.ts';
import { NULLABLE_REFERENCE, REFERENCE, readValueType } from './value-kinds.ts';
import { malformed, tooLarge, unsupported } from './wasm-error.ts';

const FUNCTION = 0x60;
/** Recursive groups, subtypes, structures and arrays. */
const COLLECTED = new Set([0x4e, 0x4f, 0x50, 0x5e, 0x5f]);
const CONTINUATION = 0x5d;

export function readTypes(cursor: Cursor, limits: ModuleLimits): readonly FunctionType[] {
  if (cursor.at === cursor.end) return [];
  const count = readU32(cursor);
  if (count > limits.types) throw tooLarge('Types', count, limits.types);
  const types: FunctionType[] = [];
  for (let index = 0; index < count; index += 1) {
    const form = readByte(cursor);
    if (COLLECTED.has(form)) throw unsupported('garbage collection (a type other than that of a function)');
    if (form === CONTINUATION) throw unsupported('stack switching');
    if (form !== FUNCTION) throw malformed(`There is no form of type 0x${form.toString(16)}.`);
    types.push(readFunctionType(cursor, limits));
  }
  return types;
}

function readFunctionType(cursor: Cursor, limits: ModuleLimits): FunctionType {
  const params = readList(cursor, limits);
  const results = readList(cursor, limits);
  const written = ({ start, end }: List): Uint8Array => cursor.bytes.subarray(start, end);
  return {
    params: params.count,
    results: results.count,
    paramSlots: params.slots,
    resultSlots: results.slots,
    signature: signatureOf(written(params), written(results)),
    resultBytes: written(results),
  };
}

interface List {
  readonly count: number;
  readonly slots: number;
  readonly start: number;
  readonly end: number;
}

function readList(cursor: Cursor, limits: ModuleLimits): List {
  const count = readU32(cursor);
  if (count > limits.arity) throw tooLarge('Parameters or results of a type', count, limits.arity);
  const start = cursor.at;
  let slots = 0;
  for (let index = 0; index < count; index += 1) slots += readValueType(cursor);
  return { count, slots, start, end: cursor.at };
}

function signatureOf(params: Uint8Array, results: Uint8Array): string | undefined {
  const isNaming = (code: number): boolean => code === REFERENCE || code === NULLABLE_REFERENCE;
  return params.some(isNaming) || results.some(isNaming) ? undefined : `${params.join()}:${results.join()}`;
}
