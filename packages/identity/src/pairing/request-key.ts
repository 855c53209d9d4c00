import { type Sha256Hex, sha256Hex } from '@palyra/primitives';
import { malformed } from './messages.ts';

interface Element {
  /** With its tag and length. */
  readonly whole: Uint8Array;
  readonly content: Uint8Array;
  readonly rest: Uint8Array;
}

const SEQUENCE = 0x30;
const INTEGER = 0x02;

/**
 * The public key (SubjectPublicKeyInfo, DER) that a certification request (PKCS #10) asks for. Only walks to it: whether
 * the request is sound, and signed with that key, is the issuer's to check. Throws `pairing.protocol`.
 */
export function publicKeyOfRequest(csrDer: Uint8Array): Uint8Array {
  const request = readElement(csrDer, SEQUENCE);
  // SECURITY: T-34 — bytes behind the request could make the issuer read another key than the one agreed on.
  if (request.rest.length > 0) throw malformed();
  const info = readElement(request.content, SEQUENCE);
  const version = readElement(info.content, INTEGER);
  const subject = readElement(version.rest, SEQUENCE);
  return readElement(subject.rest, SEQUENCE).whole;
}

/** As the registry knows keys. Throws `pairing.protocol`. */
export function keyDigestOfRequest(csrDer: Uint8Array): Sha256Hex {
  return sha256Hex(publicKeyOfRequest(csrDer));
}

/** DER: one spelling of every length, none indefinite. Nothing of ours is longer than two length bytes can say. */
function readElement(bytes: Uint8Array, tag: number): Element {
  const first = bytes[1] ?? 0xff;
  const lengthBytes = first < 0x80 ? 0 : first - 0x80;
  if (bytes[0] !== tag || lengthBytes > 2 || first === 0x80) throw malformed();
  const length =
    lengthBytes === 0 ? first : bytes.subarray(2, 2 + lengthBytes).reduce((sum, byte) => sum * 256 + byte, 0);
  const isShortest = lengthBytes === 0 || (lengthBytes === 1 ? length >= 0x80 : length >= 0x100);
  const start = 2 + lengthBytes;
  const end = start + length;
  if (!isShortest || end > bytes.length) throw malformed();
  return { whole: bytes.subarray(0, end), content: bytes.subarray(start, end), rest: bytes.subarray(end) };
}
