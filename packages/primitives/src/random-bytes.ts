/** Randomness as a dependency: `length` fresh bytes nobody can predict. */
export type RandomBytes = (length: number) => Uint8Array<ArrayBuffer>;

/** WebCrypto, so that Node and browsers share it. At most 65,536 bytes a call. */
export const secureRandomBytes: RandomBytes = (length) => crypto.getRandomValues(new Uint8Array(length));
