import type { Sha256 } from '../format/crypto.ts';

/**
 * SHA-256 (FIPS 180-4) in TypeScript: browsers offer only an asynchronous one, whose round trip costs more than hashing
 * an entry, and a verifier hashes millions.
 */
export const sha256: Sha256 = (...parts) => {
  const state = Int32Array.from(INITIAL);
  const schedule = new Int32Array(64);
  const block = new Uint8Array(BLOCK);
  const view = new DataView(block.buffer);
  let used = 0;
  let total = 0;
  for (const part of parts) {
    total += part.length;
    for (let at = 0; at < part.length; ) {
      const taken = Math.min(BLOCK - used, part.length - at);
      block.set(part.subarray(at, at + taken), used);
      used += taken;
      at += taken;
      if (used < BLOCK) continue;
      compress(state, view, schedule);
      used = 0;
    }
  }
  block[used] = 0x80;
  block.fill(0, used + 1);
  if (used + 1 > LENGTH_AT) {
    compress(state, view, schedule);
    block.fill(0);
  }
  view.setBigUint64(LENGTH_AT, BigInt(total) * 8n);
  compress(state, view, schedule);
  return digestOf(state);
};

const BLOCK = 64;
const LENGTH_AT = 56;

/** The first 32 bits of the fractional parts of the roots of the first primes: square for the state, cube for the rounds. */
const PRIMES = firstPrimes(64);
const INITIAL: readonly number[] = PRIMES.slice(0, 8).map((prime) => fractionBits(prime, 2));
const ROUND: Int32Array = Int32Array.from(PRIMES, (prime) => fractionBits(prime, 3));

function firstPrimes(count: number): readonly number[] {
  const primes: number[] = [];
  for (let candidate = 2; primes.length < count; candidate += 1) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes;
}

/** By whole numbers, so that no rounding of floats has a say: the largest r with r^degree <= prime × 2^(32 × degree). */
function fractionBits(prime: number, degree: 2 | 3): number {
  const target = BigInt(prime) << BigInt(32 * degree);
  let root = 0n;
  for (let bit = 1n << 40n; bit > 0n; bit >>= 1n) {
    if ((root + bit) ** BigInt(degree) <= target) root += bit;
  }
  return Number(root & 0xffff_ffffn);
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

/** Plain numbered reads throughout: taking an array apart by its iterator costs ten times as much as the hashing. */
function compress(state: Int32Array, block: DataView, w: Int32Array): void {
  extend(block, w);
  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  let e = state[4] as number;
  let f = state[5] as number;
  let g = state[6] as number;
  let h = state[7] as number;
  for (let t = 0; t < 64; t += 1) {
    const large1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + large1 + choice + (ROUND[t] as number) + (w[t] as number)) | 0;
    const large0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + large0 + majority) | 0;
  }
  state[0] = (state[0] as number) + a;
  state[1] = (state[1] as number) + b;
  state[2] = (state[2] as number) + c;
  state[3] = (state[3] as number) + d;
  state[4] = (state[4] as number) + e;
  state[5] = (state[5] as number) + f;
  state[6] = (state[6] as number) + g;
  state[7] = (state[7] as number) + h;
}

function extend(block: DataView, w: Int32Array): void {
  for (let t = 0; t < 16; t += 1) w[t] = block.getInt32(4 * t);
  for (let t = 16; t < 64; t += 1) {
    const x = w[t - 15] as number;
    const y = w[t - 2] as number;
    const small0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
    const small1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
    w[t] = ((w[t - 16] as number) + small0 + (w[t - 7] as number) + small1) | 0;
  }
}

function digestOf(state: Int32Array): Uint8Array {
  const digest = new Uint8Array(32);
  const view = new DataView(digest.buffer);
  for (let index = 0; index < 8; index += 1) view.setInt32(4 * index, state[index] as number);
  return digest;
}
