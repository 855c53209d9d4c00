import { malformed } from './wasm-error.ts';

/** A place in bytes that nobody has checked yet. Readers move `at` and never look beyond `end`. */
export interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
  end: number;
}

export function cursorOn(bytes: Uint8Array, at = 0, end: number = bytes.length): Cursor {
  return { bytes, at, end };
}

export function readByte(cursor: Cursor): number {
  if (cursor.at >= cursor.end) throw malformed('The module ends in the middle of something.');
  return cursor.bytes[cursor.at++] as number;
}

/** An unsigned number of at most 32 bits, in at most five bytes, as V8 reads it. */
export function readU32(cursor: Cursor): number {
  let byte = readByte(cursor);
  if (byte < 0x80) return byte;
  let value = byte & 0x7f;
  for (let shift = 7; shift < 28; shift += 7) {
    byte = readByte(cursor);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  byte = readByte(cursor);
  if (byte > 0x0f) throw malformed('A number has more than 32 bits.');
  return (value | (byte << 28)) >>> 0;
}

/** A signed number of 33 bits: the index of a type, or a negative code that stands for one. */
export function readS33(cursor: Cursor): number {
  let value = 0;
  let scale = 1;
  for (let length = 1; length <= 5; length += 1) {
    const byte = readByte(cursor);
    value += (byte & 0x7f) * scale;
    scale *= 128;
    if (byte < 0x80) return (byte & 0x40) === 0 ? value : value - scale;
  }
  throw malformed('A number has more than 33 bits.');
}

/** Moves over a number of at most `longest` bytes. Whether its bits are in order is V8's to say, which is asked before anything is made. */
export function skipNumber(cursor: Cursor, longest: number): void {
  const { bytes, end } = cursor;
  let at = cursor.at;
  const last = at + longest;
  while (at < end && at < last) {
    if ((bytes[at++] as number) < 0x80) {
      cursor.at = at;
      return;
    }
  }
  throw malformed('A number does not end where it must.');
}

export function skipBytes(cursor: Cursor, count: number): void {
  if (count > cursor.end - cursor.at) throw malformed('Something is longer than what is left of the module.');
  cursor.at += count;
}

/** A name in exactly the bytes given; `undefined` when they are not UTF-8, which V8 refuses. */
export function readName(cursor: Cursor): string | undefined {
  const length = readU32(cursor);
  const from = cursor.at;
  skipBytes(cursor, length);
  try {
    return UTF8.decode(cursor.bytes.subarray(from, from + length));
  } catch {
    return undefined;
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
