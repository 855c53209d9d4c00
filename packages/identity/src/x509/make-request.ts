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

/** A certificate for one pairing listener and for as long as it lives: it says nothing, and nobody is asked to trust it. */
export async function makeListenerCredential(
  now: number,
): Promise<{ readonly certificatePem: string; readonly privateKeyPem: string }> {
  const { makeAuthorityCertificate, makeCertificate } = await import('./make-certificates.ts');
  const [authorityKey, privateKey] = [newKey(), newKey()];
  const draft = { commonName: 'palyra-pairing', notBefore: now - DAY_MS, notAfter: now + DAY_MS };
  const certificate = await makeAuthorityCertificate({ ...draft, privateKey: authorityKey });
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const issuer = { certificate, privateKey: authorityKey };
  return {
    certificatePem: await makeCertificate({ ...draft, publicKey, purpose: 'server', names: [] }, issuer),
    privateKeyPem: pemOf(privateKey),
  };
}

const DAY_MS = 86_400_000;

function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string;
}
