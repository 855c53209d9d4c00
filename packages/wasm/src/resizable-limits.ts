import { type ByteSink, putByte, putU32 } from './byte-sink.ts';
import { type Cursor, readByte, readU32 } from './cursor.ts';
import { malformed, tooLarge, unsupported } from './wasm-error.ts';

/** The size of a table or memory, and where it is written. */
export interface ResizableLimits {
  readonly minimum: number;
  readonly maximum: number | undefined;
  /** The bytes from flags to maximum. */
  readonly start: number;
  readonly end: number;
}

const HAS_MAXIMUM = 0x01;
const SHARED = 0x02;
const SIXTY_FOUR_BITS = 0x04;
const PAGE_SIZE = 0x08;

export function readLimits(cursor: Cursor, what: 'table' | 'memory'): ResizableLimits {
  const start = cursor.at;
  const flags = readByte(cursor);
  if ((flags & SHARED) !== 0) throw unsupported(`threads (a shared ${what})`);
  if ((flags & SIXTY_FOUR_BITS) !== 0) throw unsupported(`memory64 (a ${what} of 64-bit addresses)`);
  if ((flags & PAGE_SIZE) !== 0) throw unsupported('custom page sizes');
  if (flags > HAS_MAXIMUM) throw malformed(`A ${what} has flags that mean nothing.`);
  const minimum = readU32(cursor);
  const maximum = flags === HAS_MAXIMUM ? readU32(cursor) : undefined;
  return { minimum, maximum, start, end: cursor.at };
}

/** Throws when the thing begins larger than it may ever be. */
export function checkLimits({ minimum }: ResizableLimits, what: string, most: number): void {
  // SECURITY: T-26 — V8 sets the minimum aside when the module is instantiated, before a unit of fuel is spent.
  if (minimum > most) throw tooLarge(what, minimum, most);
}

/** The same minimum, and a maximum that is always there and never above `most`. */
export function putLimits(sink: ByteSink, { minimum, maximum }: ResizableLimits, most: number): void {
  putByte(sink, HAS_MAXIMUM);
  putU32(sink, minimum);
  // SECURITY: T-26 — the maximum makes V8 itself answer `grow` with -1, however much fuel is left.
  putU32(sink, Math.min(maximum ?? most, most));
}
