import { createHash, createPublicKey, hash, verify } from 'node:crypto';
import { concat } from './format/bytes.ts';
import type { Sha256, SignedBytes, VerifyCrypto } from './format/crypto.ts';

/** Node's own, synchronous: small inputs are hashed where they are. */
export const nodeSha256: Sha256 = (...parts) => {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return bytesOf(hash('sha256', only, 'binary'));
  // Making the object that takes parts costs more than hashing what a tree or an entry has.
  if (lengthOf(parts) <= ONE_PIECE_BYTES) return bytesOf(hash('sha256', concat(...parts), 'binary'));
  const sum = createHash('sha256');
  for (const part of parts) sum.update(part);
  return plain(sum.digest());
};

const ONE_PIECE_BYTES = 4096;

function lengthOf(parts: readonly Uint8Array[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

/** By way of a text, one character a byte: the buffer that Node would make for it takes three times as long as the hash. */
function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** The same memory without `Buffer`'s methods: its `slice` copies nothing, so it would not mean what it says. */
function plain(bytes: Buffer): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** DER of an Ed25519 public key up to the 32 bytes themselves (RFC 8410). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

/** Signatures are checked in Node's thread pool, so several at a time, and never on the event loop. */
export const nodeCrypto: VerifyCrypto = {
  sha256: nodeSha256,
  verifyEd25519({ publicKey, message, signature }) {
    if (publicKey.length !== 32 || signature.length !== 64) return Promise.resolve(false);
    return new Promise((resolve) => {
      try {
        verify(null, message, keyObject(publicKey), signature, (error, holds) => resolve(error === null && holds));
      } catch {
        resolve(false);
      }
    });
  },
};

/** On this thread; false for whatever is no valid signature. */
export function verifyNow({ publicKey, message, signature }: SignedBytes): boolean {
  try {
    return publicKey.length === 32 && verify(null, message, keyObject(publicKey), signature);
  } catch {
    return false;
  }
}

const keys = new Map<string, ReturnType<typeof createPublicKey>>();
const MAX_KEYS = 64;

/** Making the object costs as much as a signature, and a log has few keys. */
function keyObject(publicKey: Uint8Array): ReturnType<typeof createPublicKey> {
  const id = Buffer.from(publicKey).toString('base64');
  const known = keys.get(id);
  if (known !== undefined) return known;
  const made = createPublicKey({ key: Buffer.concat([SPKI, publicKey]), format: 'der', type: 'spki' });
  if (keys.size >= MAX_KEYS) keys.clear();
  keys.set(id, made);
  return made;
}
