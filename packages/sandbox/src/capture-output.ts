import type { CapturedOutput } from './run-result.ts';

export interface Capture {
  add(stream: 'stdout' | 'stderr', bytes: Buffer): void;
  taken(): CapturedOutput;
}

const FIRST_CAPACITY = 4096;

/** One growing buffer for each stream: a tool that writes byte by byte must not cost a hundred times what it says. */
export function createCapture(): Capture {
  const streams = { stdout: { bytes: Buffer.alloc(0), length: 0 }, stderr: { bytes: Buffer.alloc(0), length: 0 } };
  return {
    add(stream, bytes) {
      const kept = streams[stream];
      const needed = kept.length + bytes.length;
      if (needed > kept.bytes.length) {
        const grown = Buffer.alloc(Math.max(FIRST_CAPACITY, needed, kept.bytes.length * 2));
        kept.bytes.copy(grown, 0, 0, kept.length);
        kept.bytes = grown;
      }
      bytes.copy(kept.bytes, kept.length);
      kept.length = needed;
    },
    taken: () => ({
      stdout: streams.stdout.bytes.subarray(0, streams.stdout.length),
      stderr: streams.stderr.bytes.subarray(0, streams.stderr.length),
    }),
  };
}
