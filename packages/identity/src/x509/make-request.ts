import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

export interface MadeRequest {
  readonly csrDer: Uint8Array;
  readonly privateKeyPem: string;
  /** SubjectPublicKeyInfo. */
  readonly publicKeySpkiDer: Uint8Array;
}

/** Makes a key on this device and a certification request for it, signed with it. */
export async function makeRequest(): Promise<MadeRequest> {
  const { makeSigningRequest } = await import('./make-certificates.ts');
  const { privateKey } = generateKeyPairSync('ed25519');
  return {
    csrDer: await makeSigningRequest(privateKey),
    privateKeyPem: pemOf(privateKey),
    publicKeySpkiDer: createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
  };
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string;
}
