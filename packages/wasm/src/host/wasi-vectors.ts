import type { GuestCall } from './guest-call.ts';
import { fault } from './wasi-errno.ts';

interface Vector {
  readonly pointer: number;
  readonly length: number;
}

const MOST_VECTORS = 1024;
const VECTOR_BYTES = 8;

/** Writes as much of the bytes as the guest has room for; how much that was. */
export function scatter(
  call: GuestCall,
  bytes: Uint8Array,
  { vectors, count }: { readonly vectors: number; readonly count: number },
): number {
  let at = 0;
  for (const { pointer, length } of vectorsAt(call, vectors, count)) {
    const part = bytes.subarray(at, at + length);
    // All of it must be the guest's own, also what nothing is written to.
    call.memory.bytes(pointer, length);
    call.memory.write(pointer, part);
    at += part.length;
  }
  call.charge(at);
  return at;
}

/** A copy of all that the guest wants written. */
export function gather(call: GuestCall, vectors: number, count: number): Uint8Array {
  const parts = vectorsAt(call, vectors, count).map(({ pointer, length }) => call.memory.bytes(pointer, length));
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  call.charge(length);
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function vectorsAt(call: GuestCall, at: number, count: number): Vector[] {
  const number = count >>> 0;
  if (number > MOST_VECTORS) throw fault('inval');
  call.memory.bytes(at, number * VECTOR_BYTES);
  return Array.from({ length: number }, (_, index) => ({
    pointer: call.memory.readU32(at + index * VECTOR_BYTES),
    length: call.memory.readU32(at + index * VECTOR_BYTES + 4),
  }));
}
