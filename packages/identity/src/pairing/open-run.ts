import type { Duplex } from 'node:stream';
import type { Clock, RandomBytes } from '@palyra/primitives';
import type { Deadlines } from './deadlines.ts';
import { createFrames, type Frames } from './frames.ts';
import { type ClearMessage, decodeMessage, encodeMessage } from './messages.ts';
import { PairingError } from './pairing-error.ts';
import type { Refusal } from './refusal.ts';

/** One connection, TLS already done; how it was made is the listener's and the connector's business. */
export interface PairingConnection {
  readonly stream: Duplex;
  /** RFC 9266: 32 bytes that only the two ends of this very TLS connection can derive. */
  readonly exporter: Uint8Array;
  /** The other side's address. */
  readonly peer: string;
}

export interface RunDeps {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly deadlines: Deadlines;
}

/** The part of a run that is not sealed yet. */
export interface ClearChannel {
  readonly frames: Frames;
  /** Returns what went over the wire. */
  send(message: ClearMessage): Uint8Array;
  refuse(refusal: Refusal): void;
  receive<Kind extends ClearMessage['kind']>(kind: Kind): Promise<Extract<ClearMessage, { readonly kind: Kind }>>;
  receiveBytes(): Promise<Uint8Array>;
}

const MAX_CLEAR = 2_048;

export function createClearChannel({ stream }: PairingConnection, { clock, deadlines }: RunDeps): ClearChannel {
  const frames = createFrames(stream, clock);
  const receiveBytes = (): Promise<Uint8Array> => frames.read({ maxBytes: MAX_CLEAR, withinMs: deadlines.stepMs });
  return {
    frames,
    receiveBytes,
    send(message) {
      const bytes = encodeMessage(message);
      frames.write(bytes);
      return bytes;
    },
    refuse: (refusal) => frames.write(encodeMessage({ kind: 'refusal', ...refusal })),
    receive: async (kind) => decodeMessage(kind, await receiveBytes()),
  };
}

/** Whatever was thrown, as one of ours: a fault in our own code must not say more to the other side. */
export function asPairingError(thrown: unknown): PairingError {
  if (thrown instanceof PairingError) return thrown;
  return new PairingError('pairing.not_issued', 'The pairing failed on this side.', {
    fix: 'The log says why.',
    cause: thrown,
    refusal: { code: 'pairing.not_issued' },
  });
}
