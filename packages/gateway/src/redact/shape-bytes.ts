/** Which bytes belong: 1 at their index. */
export type ByteSet = Uint8Array;

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const DIGITS = '0123456789';

export function bytesOf(characters: string): ByteSet {
  const set = new Uint8Array(256);
  for (const byte of Buffer.from(characters, 'latin1')) set[byte] = 1;
  return set;
}

/** Printable ASCII but these. */
export function printableBut(characters: string): ByteSet {
  const set = new Uint8Array(256).fill(1, 0x21, 0x7f);
  for (const byte of Buffer.from(characters, 'latin1')) set[byte] = 0;
  return set;
}

export const DIGIT: ByteSet = bytesOf(DIGITS);
export const HEX: ByteSet = bytesOf(`${DIGITS}abcdef`);
export const ALNUM: ByteSet = bytesOf(LOWER + UPPER + DIGITS);
export const UPPER_ALNUM: ByteSet = bytesOf(UPPER + DIGITS);
export const LOWER_ALNUM: ByteSet = bytesOf(LOWER + DIGITS);
export const WORD: ByteSet = bytesOf(`${LOWER}${UPPER}${DIGITS}_`);
export const BASE64URL: ByteSet = bytesOf(`${LOWER}${UPPER}${DIGITS}_-`);
export const BASE64: ByteSet = bytesOf(`${LOWER}${UPPER}${DIGITS}+/=`);
