import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import type { SubjectName } from './make-certificates.ts';

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

/** A certificate for one pairing listener and for as long as it lives: it says where that is, and nobody is asked to trust it. */
export async function makeListenerCredential(
  now: number,
  host = 'localhost',
): Promise<{ readonly certificatePem: string; readonly privateKeyPem: string }> {
  const { makeAuthorityCertificate, makeCertificate } = await import('./make-certificates.ts');
  const [authorityKey, privateKey] = [newKey(), newKey()];
  const draft = { commonName: 'palyra-pairing', notBefore: now - DAY_MS, notAfter: now + DAY_MS };
  const certificate = await makeAuthorityCertificate({ ...draft, privateKey: authorityKey });
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const issuer = { certificate, privateKey: authorityKey };
  return {
    certificatePem: await makeCertificate({ ...draft, publicKey, purpose: 'server', names: namesOf(host) }, issuer),
    privateKeyPem: pemOf(privateKey),
  };
}

const DAY_MS = 86_400_000;

/** What is neither an address nor a name of a host, such as an address with its zone, is left out. */
function namesOf(host: string): readonly SubjectName[] {
  const others = isIP(host) === 0 ? (/^[\w.-]+$/.test(host) ? [{ type: 'dns', value: host } as const] : []) : [];
  const addresses = new Set(['127.0.0.1', '::1', ...(isIP(host) === 0 ? [] : [host])]);
  return [...others, ...[...addresses].map((value) => ({ type: 'ip', value }) as const)];
}

function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string;
}
