import { GAPS } from './secret-forms.ts';

/** Whether a secret can be masked without harm. What cannot must not be lent to a call whose output anyone sees. */
export type Maskable =
  | { readonly kind: 'maskable' }
  /** Too short or too plain: see `LEAST_GUESSES_BITS`. */
  | { readonly kind: 'guessable' }
  | { readonly kind: 'too_long' };

const LONGEST_SECRET = 16 * 1024;

const SHORTEST = 6;
const LEAST_DIFFERENT = 4;

/**
 * SECURITY: T-24 — a mask tells who reads it that a guess was right: print all PINs, and the one that comes out masked
 * is it. Below this many guesses one output or a few hold them all, so such a value is refused instead of masked.
 */
const LEAST_GUESSES_BITS = 32;

export function maskable(value: Uint8Array): Maskable {
  if (value.length > LONGEST_SECRET) return { kind: 'too_long' };
  const bytes = value.filter((byte) => GAPS[byte] === 0);
  const isEnough = bytes.length >= SHORTEST && new Set(bytes).size >= LEAST_DIFFERENT;
  return isEnough && guessBits(bytes) >= LEAST_GUESSES_BITS ? { kind: 'maskable' } : { kind: 'guessable' };
}

/** As a guesser would count who knows the length and which kinds of characters there are. */
function guessBits(bytes: Uint8Array): number {
  const kinds = KINDS.filter(({ has }) => bytes.some(has));
  const characters = kinds.reduce((sum, { size }) => sum + size, 0);
  return bytes.length * Math.log2(Math.max(characters, 1));
}

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
const isUpper = (byte: number): boolean => byte >= 0x41 && byte <= 0x5a;
const isLower = (byte: number): boolean => byte >= 0x61 && byte <= 0x7a;
const isOther = (byte: number): boolean => byte < 0x80 && !isDigit(byte) && !isUpper(byte) && !isLower(byte);

const KINDS: readonly { readonly has: (byte: number) => boolean; readonly size: number }[] = [
  { has: isDigit, size: 10 },
  { has: isUpper, size: 26 },
  { has: isLower, size: 26 },
  { has: isOther, size: 33 },
  { has: (byte) => byte >= 0x80, size: 128 },
];
