import { createHash } from 'node:crypto';
import { ristretto255, ristretto255_hasher } from '@noble/curves/ed25519.js';
import type { RandomBytes } from '@palyra/primitives';
import { lengthValue } from './length-value.ts';

/** RFC 9496, section 4.3.4. Its type is shared with groups that have none. */
const deriveElement = ristretto255_hasher.deriveToCurve as NonNullable<typeof ristretto255_hasher.deriveToCurve>;

/** What both sides must hold alike before the first message. */
export interface CpaceInputs {
  /** The password-related string: the PIN or the secret of the join URL. */
  readonly secret: Uint8Array;
  /** CI: what the run is bound to, the same for both. */
  readonly channel: Uint8Array;
  /** sid: unique for each run, public. */
  readonly session: Uint8Array;
}

export type GroupElement = InstanceType<typeof ristretto255.Point>;

/** The name of the group, as the draft hashes it. */
export const DOMAIN: Uint8Array = new TextEncoder().encode('CPaceRistretto255');

/** Octets of an encoded element and of a scalar. */
const ELEMENT_BYTES = 32;

/** SHA-512 takes its input in blocks of this size. */
const HASH_BLOCK = 128;

export function sha512(...parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash('sha512');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** The generator that only those who hold the secret can know (draft 8.1 and 8.3). */
export function calculateGenerator(inputs: CpaceInputs): GroupElement {
  return deriveElement(sha512(generatorString(inputs)));
}

/** Domain and secret fill the first block of the hash with zeros behind them, so its time says nothing of the secret. */
export function generatorString({ secret, channel, session }: CpaceInputs): Uint8Array {
  const filled = lengthValue(secret).length + lengthValue(DOMAIN).length + 1;
  const padding = new Uint8Array(Math.max(0, HASH_BLOCK - filled));
  return lengthValue(DOMAIN, secret, padding, channel, session);
}

/** As the draft recommends: 252 uniform bits, little-endian, which is always below the order of the group. */
export function sampleScalar(randomBytes: RandomBytes): bigint {
  const bytes = randomBytes(ELEMENT_BYTES);
  bytes[ELEMENT_BYTES - 1] = (bytes[ELEMENT_BYTES - 1] ?? 0) & 0x0f;
  const scalar = scalarOf(bytes);
  // One in 2^252: no multiple, and the library refuses to multiply by it.
  return scalar === 0n ? sampleScalar(randomBytes) : scalar;
}

/** Little-endian. */
export function scalarOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`);
}

export function scalarMultiply(scalar: bigint, element: GroupElement): Uint8Array {
  return element.multiply(scalar).toBytes();
}

/** Undefined stands for the identity, with which the draft demands to abort: a bad encoding counts as it (8.3). */
export function scalarMultiplyVerified(scalar: bigint, encoded: Uint8Array): Uint8Array | undefined {
  const element = decodeElement(encoded);
  // SECURITY: T-34 — with the identity as its share an attacker knows the session key without knowing the PIN.
  if (element === undefined || element.is0()) return undefined;
  return scalarMultiply(scalar, element);
}

function decodeElement(encoded: Uint8Array): GroupElement | undefined {
  try {
    return ristretto255.Point.fromBytes(encoded);
  } catch {
    return undefined;
  }
}
