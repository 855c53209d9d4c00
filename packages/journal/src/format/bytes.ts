export { base64Of, bytesOfBase64 } from './base64.ts';

/** Bytes as text and back, without `node:` and without the accidents of `Buffer.from`, which skips what it cannot read. */

const HEX_OF_BYTE: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export function hexOf(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += HEX_OF_BYTE[byte];
  return text;
}

/** Undefined unless the text is lower-case hexadecimal of whole bytes. */
export function bytesOfHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) return undefined;
  const bytes = new Uint8Array(text.length / 2);
  for (let index = 0; index < bytes.length; index += 1) {
    bytes[index] = (digitOf(text.charCodeAt(2 * index)) << 4) | digitOf(text.charCodeAt(2 * index + 1));
  }
  return bytes;
}

function digitOf(code: number): number {
  return code <= 0x39 ? code - 0x30 : code - 0x57;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Undefined for bytes that are not UTF-8. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/** Throws RangeError for a number that these bytes cannot say; `DataView` would say another. */
export function uint32(value: number): Uint8Array {
  if (!Number.isInteger(value) || value < 0 || value >= 2 ** 32) throw new RangeError('This is no uint32.');
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}

/** Throws RangeError for anything but a safe integer from 0. */
export function uint64(value: number): Uint8Array {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError('This is no uint64 that a number can hold.');
  const high = Math.floor(value / 2 ** 32);
  return Uint8Array.of(high >>> 24, high >>> 16, high >>> 8, high, value >>> 24, value >>> 16, value >>> 8, value);
}

export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let at = 0; at < left.length; at += 1) if (left[at] !== right[at]) return false;
  return true;
}
