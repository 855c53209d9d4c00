import { bytesOfHex } from '../format/bytes.ts';
import type { SignedBytes, VerifyCrypto } from '../format/crypto.ts';
import { JournalError } from '../journal-error.ts';
import { sha256 } from './sha256.ts';

/**
 * What verification needs, from what browsers and Node both have. Throws `journal.crypto_missing` where Ed25519 is not
 * offered: there, every signature would look like a forged one.
 */
export async function createWebCrypto(): Promise<VerifyCrypto> {
  const subtle: SubtleCrypto | undefined = globalThis.crypto?.subtle;
  if (subtle === undefined || !(await holds(subtle, KNOWN_GOOD)) || (await holds(subtle, KNOWN_BAD))) {
    throw new JournalError('journal.crypto_missing', 'This browser or Node cannot check Ed25519 signatures.', {
      fix: 'Use a newer one; a browser must have opened the page from a file or over https.',
    });
  }
  return { sha256, verifyEd25519: (signed) => holds(subtle, signed) };
}

type SubtleCrypto = typeof globalThis.crypto.subtle;

async function holds(subtle: SubtleCrypto, { publicKey, message, signature }: SignedBytes): Promise<boolean> {
  if (publicKey.length !== 32 || signature.length !== 64) return false;
  try {
    // Copies, because the type of a view says nothing about whose memory it shows.
    const key = await subtle.importKey('raw', new Uint8Array(publicKey), 'Ed25519', false, ['verify']);
    return await subtle.verify('Ed25519', key, new Uint8Array(signature), new Uint8Array(message));
  } catch {
    return false;
  }
}

/** RFC 8032, section 7.1, test 2. */
const KNOWN_GOOD: SignedBytes = {
  publicKey: bytes('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c'),
  message: bytes('72'),
  signature: bytes(
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da' +
      '085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  ),
};
const KNOWN_BAD: SignedBytes = { ...KNOWN_GOOD, message: bytes('73') };

function bytes(hex: string): Uint8Array {
  return bytesOfHex(hex) as Uint8Array;
}
