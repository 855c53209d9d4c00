/** Randomness as a dependency: `length` fresh bytes nobody can predict. */
export type RandomBytes = (length: number) => Uint8Array<ArrayBuffer>;

/** WebCrypto, so that Node and browsers share it. At most 65,536 bytes a call. */
export const secureRandomBytes: RandomBytes = (length) => {
  if (length > POOL_BYTES / 8) return crypto.getRandomValues(new Uint8Array(length));
  if (used + length > POOL_BYTES) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const fresh = pool.slice(used, used + length);
  // Nobody who comes to read this memory later shall find what was handed out.
  pool.fill(0, used, used + length);
  used += length;
  return fresh;
};

/** Asking the system costs the same for few bytes as for many, and every call needs several salts. */
const POOL_BYTES = 4096;
const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;
