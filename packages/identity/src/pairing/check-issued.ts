import { X509Certificate } from 'node:crypto';
import { type Sha256Hex, sha256Hex } from '@palyra/primitives';
import { PairingError } from './pairing-error.ts';

export interface IssuedCertificate {
  readonly certificate: string;
  /** The CA that was agreed on, and beside it others that count while one takes over from another. */
  readonly ca: string;
}

export interface Expected {
  /** SHA-256 of the CA's certificate, as agreed on. */
  readonly ca: Sha256Hex;
  /** SubjectPublicKeyInfo of the key that was made here. */
  readonly publicKeySpkiDer: Uint8Array;
  readonly now: number;
}

/** Throws `pairing.bad_certificate`, `pairing.clock_skew`. */
export function checkIssued(issued: IssuedCertificate, { ca, publicKeySpkiDer, now }: Expected): void {
  const own = parse(issued.certificate);
  const roots = (issued.ca.match(CERTIFICATES) ?? []).map(parse);
  // SECURITY: T-34 — the certificate is from the CA that both sides agreed on under the PIN, and from no other.
  const root = roots.find(({ raw }) => sha256Hex(raw) === ca);
  if (root === undefined || !roots.every((each) => each.ca)) throw bad('The CA is not the one that was agreed on.');
  if (!own.checkIssued(root) || !own.verify(root.publicKey)) throw bad('The certificate is not from that CA.');
  const key = own.publicKey.export({ type: 'spki', format: 'der' });
  if (!key.equals(publicKeySpkiDer)) throw bad('The certificate is for another key than that of this device.');
  checkTime(own, now);
}

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** How far the clocks may be apart. */
const MAX_SKEW_MS = 5 * 60_000;

/** Throws `pairing.clock_skew`. */
export function checkClocks(hostTime: number, now: number): void {
  const ahead = now - hostTime;
  if (Math.abs(ahead) <= MAX_SKEW_MS) return;
  const direction = ahead > 0 ? 'ahead of' : 'behind';
  throw skewed(`The clock of this device is ${duration(Math.abs(ahead))} ${direction} that of the host.`);
}

function checkTime(certificate: X509Certificate, now: number): void {
  const [from, to] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
  // SECURITY: T-35 — a certificate that is not valid here and now is of no use, and must not pass for one that is.
  if (now < from)
    throw skewed(`By the clock of this device the certificate is not valid for another ${duration(from - now)}.`);
  if (now > to) throw skewed(`By the clock of this device the certificate expired ${duration(now - to)} ago.`);
}

function skewed(message: string): PairingError {
  return new PairingError('pairing.clock_skew', message, {
    fix: 'Set the clocks of both sides, and pair again with a new invitation.',
    refusal: { code: 'pairing.clock_skew' },
  });
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const parts: readonly (readonly [number, string])[] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ];
  const said = parts.filter(([value]) => value > 0).map(([value, unit]) => `${value} ${unit}`);
  return said.slice(0, 2).join(' ') || '0 s';
}

function parse(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw bad('The certificate cannot be read.');
  }
}

function bad(message: string): PairingError {
  return new PairingError('pairing.bad_certificate', message, {
    fix: 'Pair again; if it happens again, the host is not what it should be.',
    refusal: { code: 'pairing.protocol' },
  });
}
