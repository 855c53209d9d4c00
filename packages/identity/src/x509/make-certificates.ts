// First, and only here: it patches `Reflect`, which the library needs before it is loaded.
// oxlint-disable-next-line import/no-unassigned-import -- it has nothing to assign
import 'reflect-metadata';
import { createPublicKey, type KeyObject, randomBytes, webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Pkcs10CertificateRequest,
  Pkcs10CertificateRequestGenerator,
  PublicKey,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { IdentityError } from '../identity-error.ts';
import { CLIENT_PURPOSE, SERVER_PURPOSE } from './certificate-names.ts';

/*
 * The only file that knows the library that writes certificates. Loading it takes a fifth of a second, so others import it
 * when they write one; what is read from a peer is read with Node's own parser (`certificate-facts.ts`).
 */

export interface AuthorityDraft {
  readonly commonName: string;
  readonly privateKey: KeyObject;
  readonly notBefore: number;
  readonly notAfter: number;
}

export interface CertificateDraft {
  readonly commonName: string;
  /** DER of its SubjectPublicKeyInfo. */
  readonly publicKey: Uint8Array;
  readonly purpose: 'client' | 'server';
  readonly names: readonly SubjectName[];
  readonly notBefore: number;
  readonly notAfter: number;
}

export interface SubjectName {
  readonly type: 'url' | 'dns' | 'ip';
  readonly value: string;
}

export interface Issuer {
  /** PEM. */
  readonly certificate: string;
  readonly privateKey: KeyObject;
}

cryptoProvider.set(webcrypto);

/** A certificate authority that signs leaves only. PEM. */
export async function makeAuthorityCertificate(draft: AuthorityDraft): Promise<string> {
  const publicKey = await importPublicKey(spkiOf(draft.privateKey));
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [draft.commonName] }],
    issuer: [{ CN: [draft.commonName] }],
    publicKey,
    signingKey: await importPrivateKey(draft.privateKey),
    signingAlgorithm: signingAlgorithm(draft.privateKey),
    notBefore: new Date(draft.notBefore),
    notAfter: new Date(draft.notAfter),
    extensions: [
      // SECURITY: T-35 — path length 0: a certificate that this one signed can sign no other.
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
      await SubjectKeyIdentifierExtension.create(publicKey),
    ],
  });
  return `${certificate.toString('pem')}\n`;
}

/** A leaf, for clients or for servers and never for both. PEM. */
export async function makeCertificate(draft: CertificateDraft, issuer: Issuer): Promise<string> {
  const authority = new X509Certificate(issuer.certificate);
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [draft.commonName] }],
    issuer: authority.subjectName,
    publicKey: await importPublicKey(draft.publicKey),
    signingKey: await importPrivateKey(issuer.privateKey),
    signingAlgorithm: signingAlgorithm(issuer.privateKey),
    notBefore: new Date(draft.notBefore),
    notAfter: new Date(draft.notAfter),
    extensions: await leafExtensions(draft, authority),
  });
  return `${certificate.toString('pem')}\n`;
}

async function leafExtensions(draft: CertificateDraft, authority: X509Certificate): Promise<Extension[]> {
  return [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    // SECURITY: T-35 — apart, so that a device cannot pose as the daemon, nor the daemon's certificate open a connection.
    new ExtendedKeyUsageExtension([draft.purpose === 'client' ? CLIENT_PURPOSE : SERVER_PURPOSE], true),
    ...(draft.names.length === 0 ? [] : [new SubjectAlternativeNameExtension([...draft.names])]),
    await SubjectKeyIdentifierExtension.create(await importPublicKey(draft.publicKey)),
    await AuthorityKeyIdentifierExtension.create(authority),
  ];
}

/** A request for a certificate, signed by the key it is for; the key itself stays where it is. DER. */
export async function makeSigningRequest(privateKey: KeyObject): Promise<Uint8Array> {
  const request = await Pkcs10CertificateRequestGenerator.create({
    // Nothing in a request is believed but its key, so nothing else is in it.
    name: [{ CN: ['palyra device'] }],
    keys: { privateKey: await importPrivateKey(privateKey), publicKey: await importPublicKey(spkiOf(privateKey)) },
    signingAlgorithm: signingAlgorithm(privateKey),
  });
  return new Uint8Array(request.rawData);
}

const MAX_REQUEST_BYTES = 4096;

/** The key that asks, DER of its SubjectPublicKeyInfo. Throws `identity.invalid_request` unless that key signed the request. */
export async function readSigningRequest(der: Uint8Array): Promise<Uint8Array> {
  if (der.length > MAX_REQUEST_BYTES) throw invalidRequest();
  try {
    const request = new Pkcs10CertificateRequest(new Uint8Array(der));
    const publicKey = new Uint8Array(request.publicKey.rawData);
    requireUsable(publicKey);
    // SECURITY: T-34 — whoever asks holds the key: else a device could be entered with the key of another.
    if (await request.verify()) return publicKey;
  } catch (cause) {
    throw invalidRequest(cause);
  }
  throw invalidRequest();
}

function invalidRequest(cause?: unknown): IdentityError {
  return new IdentityError('identity.invalid_request', 'This is not a certificate request signed by its own key.', {
    fix: 'Make a request with an Ed25519 or P-256 key: PKCS #10, DER.',
    ...(cause === undefined ? {} : { cause }),
  });
}

/** SECURITY: T-35 — two algorithms that every peer checks alike, and no key that is too short to count. */
function requireUsable(spki: Uint8Array): void {
  const key = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
  const curve = key.asymmetricKeyDetails?.namedCurve;
  const isKnown = key.asymmetricKeyType === 'ed25519' || (key.asymmetricKeyType === 'ec' && curve === 'prime256v1');
  if (!isKnown) throw invalidRequest();
  // SECURITY: T-34 — in its one spelling (a point can be written in three): keys are told apart by the digest of what is
  // written, and one that was revoked must not come back in other clothes.
  const plain = createPublicKey({ key: key.export({ format: 'jwk' }), format: 'jwk' });
  if (!plain.export({ type: 'spki', format: 'der' }).equals(spki)) throw invalidRequest();
}

function spkiOf(privateKey: KeyObject): Uint8Array {
  return createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
}

async function importPublicKey(spki: Uint8Array): Promise<webcrypto.CryptoKey> {
  const key = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
  return new PublicKey(new Uint8Array(spki)).export(algorithmOf(key), ['verify']);
}

async function importPrivateKey(key: KeyObject): Promise<webcrypto.CryptoKey> {
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
  return webcrypto.subtle.importKey('pkcs8', pkcs8, algorithmOf(key), false, ['sign']);
}

function algorithmOf(key: KeyObject): { readonly name: string; readonly namedCurve?: string } {
  return key.asymmetricKeyType === 'ed25519' ? { name: 'Ed25519' } : { name: 'ECDSA', namedCurve: 'P-256' };
}

function signingAlgorithm(key: KeyObject): { readonly name: string; readonly hash?: string } {
  return key.asymmetricKeyType === 'ed25519' ? { name: 'Ed25519' } : { name: 'ECDSA', hash: 'SHA-256' };
}

/** Positive, and never the same twice. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString('hex');
}
