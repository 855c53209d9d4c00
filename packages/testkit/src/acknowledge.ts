import { writeSync } from 'node:fs';

/**
 * Prints what was acknowledged, all of it before this returns: who is killed a moment later has said it. Its pipe does not
 * block, and is full when whoever reads it has other things to do.
 */
export function acknowledge(text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(STDOUT, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(PAUSE, 0, 0, 1);
    }
  }
}

const STDOUT = 1;
const PAUSE = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
