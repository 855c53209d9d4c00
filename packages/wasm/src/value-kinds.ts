import { type Cursor, readByte, readS33 } from './cursor.ts';
import { malformed, unsupported } from './wasm-error.ts';

/** How many slots of eight bytes a value of a type may take on the stack. */
export type Slots = 1 | 2;

const V128 = 0x7b;
const EXCEPTION = 0x69;
/** What follows either names the type that is referred to. */
export const NULLABLE_REFERENCE = 0x63;
export const REFERENCE = 0x64;
const NUMBERS = new Set([0x7f, 0x7e, 0x7d, 0x7c]);
/** func, extern and exn, and the types of which only null is one: nofunc, noextern and noexn. */
const HEAP_TYPES = new Set([0x70, 0x6f, 0x69, 0x73, 0x72, 0x74]);
/** any, eq, i31, struct, array and none: objects on V8's heap, which no limit of ours counts. */
const COLLECTED = new Set([0x6e, 0x6d, 0x6c, 0x6b, 0x6a, 0x71]);

/** Moves over the type of a value. */
export function readValueType(cursor: Cursor): Slots {
  const code = readByte(cursor);
  if (NUMBERS.has(code) || HEAP_TYPES.has(code)) return 1;
  if (code === V128) return 2;
  if (code === REFERENCE || code === NULLABLE_REFERENCE) {
    readHeapType(cursor);
    return 1;
  }
  throw unknownType(code);
}

/** Moves over the type of a value, and says whether it is that of exceptions. */
export function readIsException(cursor: Cursor): boolean {
  const { bytes, at, end } = cursor;
  readValueType(cursor);
  const code = bytes[at];
  if (code !== REFERENCE && code !== NULLABLE_REFERENCE) return code === EXCEPTION;
  return readS33({ bytes, at: at + 1, end }) === EXCEPTION - 0x80;
}

/** The index of a function type, or one of the abstract kinds that hold no collected objects. */
export function readHeapType(cursor: Cursor): void {
  const type = readS33(cursor);
  if (type >= 0) return;
  const code = type & 0x7f;
  if (type < -0x40 || !HEAP_TYPES.has(code)) throw unknownType(code);
}

function unknownType(code: number): Error {
  if (COLLECTED.has(code)) return unsupported('garbage collection (a type of collected objects)');
  return malformed(`There is no type 0x${code.toString(16)}.`);
}
