import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { IdentityError } from '../identity-error.ts';

/** A device's own key. It signs on its device, and only its public half ever leaves it. */
export interface DeviceKey {
  readonly algorithm: KeyAlgorithm;
  /** DER of its SubjectPublicKeyInfo. */
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
  sign(message: Uint8Array): Uint8Array;
  /** PKCS #8, PEM; for its own file and for nothing else. */
  exportPrivate(): string;
}

/** Ed25519 unless the device's key store has only the other. */
export type KeyAlgorithm = 'ed25519' | 'p256';

export function createDeviceKey(algorithm: KeyAlgorithm = 'ed25519'): DeviceKey {
  return algorithm === 'ed25519'
    ? deviceKey(generateKeyPairSync('ed25519').privateKey)
    : deviceKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
}

/** Throws `identity.key_invalid`. */
export function readDeviceKey(pem: string): DeviceKey {
  try {
    return deviceKey(createPrivateKey(pem));
  } catch {
    // Without the cause: a parser's message may quote the key.
    throw new IdentityError('identity.key_invalid', 'This is not an Ed25519 or P-256 private key.', {
      fix: 'Bring the file back from a backup, or pair the device anew.',
    });
  }
}

function deviceKey(privateKey: KeyObject): DeviceKey {
  const algorithm = algorithmOf(privateKey);
  if (algorithm === undefined) throw new Error('Another kind of key.');
  return {
    algorithm,
    publicKey: new Uint8Array(createPublicKey(privateKey).export({ type: 'spki', format: 'der' })),
    privateKey,
    sign: (message) => new Uint8Array(sign(digestFor(algorithm), message, privateKey)),
    exportPrivate: () => privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

export interface SignedByKey {
  /** DER of its SubjectPublicKeyInfo. */
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/** False for anything but a valid signature, malformed keys and signatures included. Never throws. */
export function isSignedByKey({ publicKey, message, signature }: SignedByKey): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' });
    const algorithm = algorithmOf(key);
    return algorithm !== undefined && verify(digestFor(algorithm), message, key, signature);
  } catch {
    return false;
  }
}

/** The 32 bytes of an Ed25519 key, undefined for any other. */
export function rawEd25519Key(publicKey: Uint8Array): Uint8Array | undefined {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' });
    return algorithmOf(key) === 'ed25519' ? publicKey.slice(publicKey.length - RAW_KEY_BYTES) : undefined;
  } catch {
    return undefined;
  }
}

const RAW_KEY_BYTES = 32;

function digestFor(algorithm: KeyAlgorithm): 'sha256' | null {
  return algorithm === 'ed25519' ? null : 'sha256';
}

function algorithmOf(key: KeyObject): KeyAlgorithm | undefined {
  if (key.asymmetricKeyType === 'ed25519') return 'ed25519';
  const isP256 = key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
  return isP256 ? 'p256' : undefined;
}
