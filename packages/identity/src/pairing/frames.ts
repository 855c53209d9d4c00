import type { Duplex } from 'node:stream';
import type { Clock } from '@palyra/primitives';
import { PairingError } from './pairing-error.ts';
import { refused } from './refusal.ts';

export interface ReadLimits {
  readonly maxBytes: number;
  readonly withinMs: number;
}

/** Whole messages over a stream of bytes: four bytes of length, big-endian, and so many bytes. */
export interface Frames {
  /** Throws `pairing.timed_out`, `pairing.closed`, `pairing.protocol` (too long, or empty). */
  read(limits: ReadLimits): Promise<Uint8Array>;
  /** Never waits: what we send is small, and whoever does not take it runs into the deadline of its next answer. */
  write(payload: Uint8Array): void;
  /** Sends what was written, and hangs up. */
  end(): void;
  /** Aborted once the other side is gone. */
  readonly gone: AbortSignal;
}

const HEADER_BYTES = 4;

/** More than this is never waiting to be read in an honest run. */
const MAX_BUFFERED = 64 * 1024;

/** Given, because a reason that is made up by `abort` has a stack: that took a fifth of the time of a guess. */
const OVER = 'over';

export function createFrames(stream: Duplex, clock: Clock): Frames {
  const chunks: Buffer[] = [];
  const gone = new AbortController();
  let buffered = 0;
  let wake = (): void => undefined;

  const hangUp = (): void => {
    gone.abort(OVER);
    wake();
  };
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    buffered += chunk.length;
    // SECURITY: T-34 — whoever talks without being asked is cut off before it fills the memory.
    if (buffered > MAX_BUFFERED) stream.destroy();
    wake();
  });
  stream.on('end', hangUp).on('close', hangUp).on('error', hangUp);

  function take(length: number): Buffer {
    const all = Buffer.concat(chunks);
    chunks.splice(0, chunks.length, all.subarray(length));
    buffered = all.length - length;
    return all.subarray(0, length);
  }

  /** True once so many bytes are there, false when the other side is gone before. */
  async function filled(length: number): Promise<boolean> {
    while (buffered < length) {
      if (gone.signal.aborted) return false;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return true;
  }

  async function readFrame(maxBytes: number): Promise<Uint8Array> {
    if (!(await filled(HEADER_BYTES))) throw closed();
    const length = take(HEADER_BYTES).readUInt32BE();
    // SECURITY: T-34 — the length is judged before a byte of the frame is waited for.
    if (length === 0 || length > maxBytes) throw refused({ code: 'pairing.protocol' });
    if (!(await filled(length))) throw closed();
    return take(length);
  }

  return {
    gone: gone.signal,
    read: ({ maxBytes, withinMs }) => within(readFrame(maxBytes), withinMs, clock),
    write(payload) {
      if (stream.destroyed) return;
      const header = Buffer.alloc(HEADER_BYTES);
      header.writeUInt32BE(payload.length);
      stream.write(Buffer.concat([header, payload]));
    },
    end() {
      stream.end();
    },
  };
}

/** Throws `pairing.timed_out` when the work is not done in time. The work itself is left behind. */
export async function within<Result>(work: Promise<Result>, ms: number, clock: Clock): Promise<Result> {
  const done = new AbortController();
  const deadline = clock.sleep(ms, done.signal).then(() => {
    // SECURITY: T-34 — half-open connections would otherwise keep the places of the listener for ever.
    throw refused({ code: 'pairing.timed_out' });
  });
  deadline.catch(() => undefined);
  work.catch(() => undefined);
  try {
    return await Promise.race([work, deadline]);
  } finally {
    done.abort(OVER);
  }
}

function closed(): PairingError {
  return new PairingError('pairing.closed', 'The other side closed the connection.', { fix: 'Try again.' });
}
