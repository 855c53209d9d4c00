/** SHA-256 over the parts, one after the other. */
export type Sha256 = (...parts: readonly Uint8Array[]) => Uint8Array;

/** The two operations that verification needs; Node and browsers have each their own (`node-crypto.ts`, `web-crypto.ts`). */
export interface VerifyCrypto {
  readonly sha256: Sha256;
  /** False for anything but a valid signature, malformed keys and signatures included. Never throws. */
  verifyEd25519(signed: SignedBytes): Promise<boolean>;
}

export interface SignedBytes {
  /** 32 bytes, as in RFC 8032. */
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  /** 64 bytes. */
  readonly signature: Uint8Array;
}

/** Signs with one Ed25519 key that the caller never sees. */
export interface Signer {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  sign(message: Uint8Array): Uint8Array;
}
