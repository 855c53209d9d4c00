import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '@palyra/primitives';
import { IdentityError } from '../identity-error.ts';
import { createPrivateFile, ensurePrivateDirectory, fileStamp, readPrivateFile } from '../keys/private-files.ts';
import { fingerprintOf, type TrustedAuthority } from '../x509/certificate-facts.ts';
import { type DeviceNames, deviceUris, PAIRING_URI, SERVER_URI } from '../x509/certificate-names.ts';
import type { CertificateDraft, SubjectName } from '../x509/make-certificates.ts';
import { type Authority, type AuthorityFile, keyFileOf, openAuthorityFile } from './authority-file.ts';
import { CLOCK_SKEW_MS, DEFAULT_LIFETIMES, type Lifetimes, PAIRING_CERTIFICATE_MS } from './lifetimes.ts';

/** Signs what this home vouches for, and says whose signatures count. */
export interface CertificateAuthority {
  /** Those whose certificates count now, the one that signs first. Throws as `AuthorityFile.read` does. */
  trusted(): readonly (Authority & TrustedAuthority)[];
  /** Their certificates, PEM: what a peer needs to know us by. */
  bundle(): string;
  /** Throws `identity.ca_missing` without the key, `identity.ca_expired`. */
  issueDevice(draft: DeviceNames & WithKey): Promise<IssuedCertificate>;
  issueServer(draft: ServerNames & WithKey): Promise<IssuedCertificate>;
  /** For a listener of strangers: short, and not palyrad's. */
  issuePairing(draft: ServerNames & WithKey): Promise<IssuedCertificate>;
}

export interface WithKey {
  /** DER of its SubjectPublicKeyInfo. */
  readonly publicKey: Uint8Array;
}

export interface ServerNames {
  /** Host names and addresses that other programs than ours know it by. */
  readonly hosts: readonly string[];
}

export interface IssuedCertificate {
  readonly pem: string;
  /** SHA-256 of the certificate, hexadecimal. */
  readonly fingerprint: string;
  readonly notBefore: number;
  readonly notAfter: number;
}

export interface AuthorityOptions {
  readonly clock?: Clock;
  readonly lifetimes?: Partial<Lifetimes>;
}

/** Below the identity directory of a home. */
export function authorityDirectory(identityDirectory: string): string {
  return join(identityDirectory, 'ca');
}

export function hasAuthority(identityDirectory: string): boolean {
  return fileStamp(join(authorityDirectory(identityDirectory), 'authorities.json')) !== '';
}

/** Throws `identity.ca_exists`, `identity.key_unsafe`, `identity.not_written`. */
export async function createAuthority(
  identityDirectory: string,
  options: AuthorityOptions = {},
): Promise<CertificateAuthority> {
  if (hasAuthority(identityDirectory)) throw hasOne();
  ensurePrivateDirectory(identityDirectory);
  const directory = authorityDirectory(identityDirectory);
  ensurePrivateDirectory(directory);
  const made = await makeAuthority(directory, 'current', options);
  try {
    // Never over one that somebody else made meanwhile: what that one signed already would be worthless.
    openAuthorityFile(directory).create([made]);
  } catch (error) {
    rmSync(keyFileOf(directory, made.id), { force: true });
    throw hasAuthority(identityDirectory) ? hasOne() : error;
  }
  return openAuthority(identityDirectory, options);
}

function hasOne(): IdentityError {
  return new IdentityError('identity.ca_exists', 'This home has a certificate authority already.', {
    fix: 'Go on with it; `palyra init` changes nothing that is there.',
  });
}

/** Opens nothing yet: each call reads what there is, so a roll-over by another process is noticed. */
export function openAuthority(identityDirectory: string, options: AuthorityOptions = {}): CertificateAuthority {
  const { clock = systemClock } = options;
  const file = openAuthorityFile(authorityDirectory(identityDirectory));
  const { certificateMs } = { ...DEFAULT_LIFETIMES, ...options.lifetimes };

  const issue = async (
    draft: Omit<CertificateDraft, 'notBefore' | 'notAfter'>,
    lifeMs = certificateMs,
  ): Promise<IssuedCertificate> => {
    const current = signingAuthority(file, clock);
    const now = clock.now();
    const notAfter = Math.min(now + lifeMs, current.trustedUntil);
    // Late: most of those who open an authority sign nothing.
    const { makeCertificate } = await import('../x509/make-certificates.ts');
    const times = { notBefore: now - CLOCK_SKEW_MS, notAfter };
    const privateKey = readAuthorityKey(file.directory, current.id);
    const pem = await makeCertificate(
      { ...draft, ...times },
      { certificate: current.certificate.toString(), privateKey },
    );
    return describeCertificate(pem);
  };

  return {
    trusted: () => trustedAt(file.read(), clock.now()),
    bundle: () =>
      trustedAt(file.read(), clock.now())
        .map(({ certificate }) => certificate.toString())
        .join(''),
    issueDevice: ({ publicKey, ...names }) =>
      issue({ commonName: names.device, publicKey, purpose: 'client', names: deviceUris(names).map(asUrl) }),
    issueServer: ({ publicKey, hosts }) =>
      issue({
        commonName: 'palyrad',
        publicKey,
        purpose: 'server',
        names: [...hosts.map(asHost), asUrl(SERVER_URI)],
      }),
    issuePairing: ({ publicKey, hosts }) =>
      issue(
        {
          commonName: 'palyra-pairing',
          publicKey,
          purpose: 'server',
          // SECURITY: T-35 — another name than palyrad's, or whoever got the key of a listener of strangers could pose as it.
          names: [...hosts.map(asHost), asUrl(PAIRING_URI)],
        },
        PAIRING_CERTIFICATE_MS,
      ),
  };
}

/** Those whose time has not come, whatever the file still lists. */
export function trustedAt(authorities: readonly Authority[], now: number): readonly Authority[] {
  const order = { current: 0, next: 1, previous: 2 } as const;
  return authorities
    .filter(({ trustedUntil }) => now < trustedUntil)
    .toSorted((left, right) => order[left.state] - order[right.state]);
}

/** Makes a key and a certificate for it; the list of authorities is left as it was. */
export async function makeAuthority(
  directory: string,
  state: Authority['state'],
  { clock = systemClock, lifetimes }: AuthorityOptions,
): Promise<Authority> {
  const { makeAuthorityCertificate } = await import('../x509/make-certificates.ts');
  // P-256: what the TLS of every client can check, where Ed25519 is not yet everywhere (ADR 0012).
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const now = clock.now();
  const notAfter = now + { ...DEFAULT_LIFETIMES, ...lifetimes }.authorityMs;
  // A name of its own: during a roll-over two authorities are told apart by it.
  const commonName = `Palyra ${new Date(now).toISOString()}`;
  const pem = await makeAuthorityCertificate({ commonName, privateKey, notBefore: now - CLOCK_SKEW_MS, notAfter });
  const certificate = new X509Certificate(pem);
  const id = fingerprintOf(certificate);
  createPrivateFile(keyFileOf(directory, id), privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
  return { id, state, certificate, createdAt: now, trustedUntil: certificate.validToDate.getTime() };
}

function describeCertificate(pem: string): IssuedCertificate {
  const certificate = new X509Certificate(pem);
  return {
    pem,
    fingerprint: fingerprintOf(certificate),
    notBefore: certificate.validFromDate.getTime(),
    notAfter: certificate.validToDate.getTime(),
  };
}

function signingAuthority(file: AuthorityFile, clock: Clock): Authority {
  const current = file.read().find(({ state }) => state === 'current');
  if (current !== undefined && clock.now() < current.trustedUntil) return current;
  throw new IdentityError('identity.ca_expired', 'The certificate authority of this home has run out.', {
    fix: 'Set the clock of this host right; if it is, see "Another authority" in docs/reference/identity.md.',
  });
}

function readAuthorityKey(directory: string, id: string): KeyObject {
  const text = readPrivateFile(keyFileOf(directory, id));
  try {
    return createPrivateKey(text);
  } catch {
    // Without the cause: a parser's message may quote the key.
    throw new IdentityError('identity.key_invalid', 'The key of the certificate authority cannot be read.', {
      fix: 'Bring the identity directory back from a backup.',
    });
  }
}

function asUrl(value: string): SubjectName {
  return { type: 'url', value };
}

function asHost(value: string): SubjectName {
  return { type: /^[0-9.]+$|:/.test(value) ? 'ip' : 'dns', value };
}
