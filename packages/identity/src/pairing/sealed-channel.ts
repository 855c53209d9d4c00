import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Frames, ReadLimits } from './frames.ts';
import { decodeMessage, encodeMessage, malformed, type SealedMessage } from './messages.ts';
import type { Refusal } from './refusal.ts';

/** What follows the proofs, readable and writable by the two sides of this run alone. */
export interface SealedChannel {
  send(message: SealedMessage): void;
  refuse(refusal: Refusal): void;
  /** Throws as `Frames.read` and `decodeMessage` do; `pairing.protocol` for what was not sealed by the other side. */
  receive<Kind extends SealedMessage['kind']>(
    kind: Kind,
    withinMs: number,
  ): Promise<Extract<SealedMessage, { readonly kind: Kind }>>;
}

export interface SealedChannelInput {
  readonly role: 'joiner' | 'host';
  /** The key that CPace gave. */
  readonly key: Uint8Array;
  readonly session: Uint8Array;
}

const MAX_SEALED = 16 * 1024;
const TAG_BYTES = 16;

export function createSealedChannel(frames: Frames, { role, key, session }: SealedChannelInput): SealedChannel {
  // SECURITY: T-34 — a key for each direction: what we sealed is never opened by us, so nothing can be sent back.
  const toHost = deriveKey(key, session, 'palyra-pairing/1 joiner to host');
  const toJoiner = deriveKey(key, session, 'palyra-pairing/1 host to joiner');
  const [ours, theirs] = role === 'joiner' ? [toHost, toJoiner] : [toJoiner, toHost];
  let [sent, received] = [0, 0];

  const write = (plain: Uint8Array): void => frames.write(seal(ours, sent++, plain));
  const limits = (withinMs: number): ReadLimits => ({ maxBytes: MAX_SEALED, withinMs });
  return {
    send: (message) => write(encodeMessage(message)),
    refuse: (refusal) => write(encodeMessage({ kind: 'refusal', ...refusal })),
    receive: async (kind, withinMs) =>
      decodeMessage(kind, open(theirs, received++, await frames.read(limits(withinMs)))),
  };
}

function deriveKey(key: Uint8Array, session: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha512', key, session, purpose, 32));
}

/** The keys live for one run, so counting gives every message a nonce of its own. */
function nonceOf(count: number): Uint8Array {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(count), 4);
  return nonce;
}

function seal(key: Uint8Array, count: number, plain: Uint8Array): Uint8Array {
  const cipher = createCipheriv('aes-256-gcm', key, nonceOf(count));
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function open(key: Uint8Array, count: number, sealed: Uint8Array): Uint8Array {
  if (sealed.length <= TAG_BYTES) throw malformed();
  const cipher = createDecipheriv('aes-256-gcm', key, nonceOf(count), { authTagLength: TAG_BYTES });
  cipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  try {
    // SECURITY: T-34 — a message of another run, out of turn, or changed on the way does not open.
    return Buffer.concat([cipher.update(sealed.subarray(0, -TAG_BYTES)), cipher.final()]);
  } catch {
    throw malformed();
  }
}
