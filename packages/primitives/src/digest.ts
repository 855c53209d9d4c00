import { createHash, hash, timingSafeEqual } from 'node:crypto';
import { canonicalJson, type JsonValue } from './canonical-json.ts';
import { PrimitivesError } from './primitives-error.ts';

declare const sha256: unique symbol;

/** 64 lower-case hexadecimal digits. */
export type Sha256Hex = string & { readonly [sha256]: true };

/** Text counts as its UTF-8 bytes. */
export type DigestInput = string | Uint8Array;

/** Throws `PrimitivesError` for text that has no UTF-8 bytes of its own (half a surrogate pair). */
export function sha256Bytes(input: DigestInput): Uint8Array {
  return createHash('sha256').update(bytesOf(input)).digest();
}

/** As `sha256Bytes`, in hexadecimal. */
export function sha256Hex(input: DigestInput): Sha256Hex {
  return hash('sha256', bytesOf(input), 'hex') as Sha256Hex;
}

/** The digest of a value's one canonical spelling (RFC 8785); throws as `canonicalJson` does. */
export function sha256OfJson(value: JsonValue): Sha256Hex {
  return sha256Hex(canonicalJson(value));
}

/**
 * One digest over several parts, for a stated purpose: SHA-256 of the domain, the number of parts and the parts,
 * each of domain and parts preceded by its length, all as eight bytes, big-endian.
 */
export function sha256OfParts(domain: string, parts: readonly DigestInput[]): Sha256Hex {
  const sum = createHash('sha256');
  const framed = (input: DigestInput): void => {
    const bytes = bytesOf(input);
    // SECURITY: T-03 — lengths first, or ['ab','c'] and ['a','bc'] would share the digest a human approved.
    sum.update(uint64(bytes.length)).update(bytes);
  };
  framed(domain);
  sum.update(uint64(parts.length));
  for (const part of parts) framed(part);
  return sum.digest('hex') as Sha256Hex;
}

/** Throws `PrimitivesError` unless `text` is a digest in its one canonical spelling. */
export function parseSha256Hex(text: unknown): Sha256Hex {
  if (typeof text === 'string' && /^[0-9a-f]{64}$/.test(text)) return text as Sha256Hex;
  throw new PrimitivesError('primitives.invalid_digest', 'This is not a SHA-256 digest.', {
    fix: 'Give 64 hexadecimal digits in lower case.',
  });
}

/** Takes the same time wherever two inputs of one length differ; only their lengths can be learned. */
export function equalInConstantTime(left: DigestInput, right: DigestInput): boolean {
  const [leftBytes, rightBytes] = [bytesOf(left), bytesOf(right)];
  return leftBytes.length === rightBytes.length && timingSafeEqual(leftBytes, rightBytes);
}

const encoder = new TextEncoder();

function bytesOf(input: DigestInput): Uint8Array {
  if (typeof input !== 'string') return input;
  // SECURITY: T-03 — encoders turn every half surrogate into U+FFFD, so different texts would share a digest.
  if (input.isWellFormed()) return encoder.encode(input);
  throw new PrimitivesError('primitives.ambiguous_text', 'The text holds half a surrogate pair.', {
    fix: 'Give text made of whole Unicode characters.',
  });
}

function uint64(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value));
  return bytes;
}
