import { readSync, writeSync } from 'node:fs';
import { createFrameReader, type Frame } from './frames.ts';

/** The one way in and out of a host, read and written in turn: a guest waits for its host calls, and so does its thread. */
export interface Pipe {
  /** The next frame; undefined when palyrad is gone. */
  next(): Frame | undefined;
  send(bytes: Uint8Array): void;
}

const STDIN = 0;
const STDOUT = 1;
const READ_BYTES: number = 256 * 1024;

export function openPipe(): Pipe {
  const reader = createFrameReader();
  const waiting: Frame[] = [];
  const take = (frame: Frame) => void waiting.push(frame);
  const chunk = Buffer.alloc(READ_BYTES);
  return {
    next() {
      while (waiting.length === 0) {
        const read = readSome(chunk);
        if (read === 0) return undefined;
        // The chunk is written to again; frames are views of what was pushed.
        reader.push(Buffer.from(chunk.subarray(0, read)), take);
      }
      return waiting.shift();
    },
    send(bytes) {
      for (let at = 0; at < bytes.length; ) at += writeSome(bytes, at);
    },
  };
}

function readSome(chunk: Buffer): number {
  return patiently(() => readSync(STDIN, chunk, 0, chunk.length, null));
}

function writeSome(bytes: Uint8Array, at: number): number {
  return patiently(() => writeSync(STDOUT, bytes, at));
}

/** Ours are pipes that block; should one not, waiting for it costs nothing but time. */
function patiently(act: () => number): number {
  for (;;) {
    try {
      return act();
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}
