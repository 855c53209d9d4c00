import type { WasmMemory } from './engine.ts';

/** The guest pointed outside of its memory. */
export class OutOfBounds extends Error {}

/** The guest's memory as a host function sees it. Views are made anew when the memory has grown. */
export interface GuestMemory {
  /** A view of `length` bytes: gone stale when the guest runs again. Throws `OutOfBounds`. */
  bytes(pointer: number, length: number): Uint8Array;
  /** Throws `OutOfBounds`. */
  write(pointer: number, bytes: Uint8Array): void;
  readU32(pointer: number): number;
  readU64(pointer: number): bigint;
  readU16(pointer: number): number;
  readU8(pointer: number): number;
  writeU32(pointer: number, value: number): void;
  writeU64(pointer: number, value: bigint): void;
  writeU16(pointer: number, value: number): void;
  writeU8(pointer: number, value: number): void;
}

export function openMemory(memory: WasmMemory): GuestMemory {
  let buffer = memory.buffer;
  let whole = new Uint8Array(buffer);
  let view = new DataView(buffer);
  /** SECURITY: T-27 — every access of every host function: pointer and length as unsigned, their sum without wrapping. */
  const checked = (pointer: number, length: number): number => {
    if (memory.buffer !== buffer) {
      buffer = memory.buffer;
      whole = new Uint8Array(buffer);
      view = new DataView(buffer);
    }
    const start = pointer >>> 0;
    if (start + (length >>> 0) > whole.length) throw new OutOfBounds('It points outside of its memory.');
    return start;
  };
  return {
    bytes(pointer, length) {
      const start = checked(pointer, length);
      return whole.subarray(start, start + (length >>> 0));
    },
    write(pointer, bytes) {
      const start = checked(pointer, bytes.length);
      whole.set(bytes, start);
    },
    readU32(pointer) {
      const at = checked(pointer, 4);
      return view.getUint32(at, true);
    },
    readU64(pointer) {
      const at = checked(pointer, 8);
      return view.getBigUint64(at, true);
    },
    readU16(pointer) {
      const at = checked(pointer, 2);
      return view.getUint16(at, true);
    },
    readU8(pointer) {
      const at = checked(pointer, 1);
      return view.getUint8(at);
    },
    writeU32(pointer, value) {
      const at = checked(pointer, 4);
      view.setUint32(at, value >>> 0, true);
    },
    writeU64(pointer, value) {
      const at = checked(pointer, 8);
      view.setBigUint64(at, BigInt.asUintN(64, value), true);
    },
    writeU16(pointer, value) {
      const at = checked(pointer, 2);
      view.setUint16(at, value & 0xffff, true);
    },
    writeU8(pointer, value) {
      const at = checked(pointer, 1);
      view.setUint8(at, value & 0xff);
    },
  };
}
