import { createHash, type X509Certificate } from 'node:crypto';
import { type Refused, refused } from '../identity-error.ts';
import { CLIENT_PURPOSE, type DeviceNames, readDeviceNames } from './certificate-names.ts';

/** All that is believed of a device's certificate; who it is and what it may is in the registry. */
export interface CertificateFacts extends DeviceNames {
  /** SHA-256 of the key, hexadecimal. */
  readonly keyDigest: string;
  /** SHA-256 of the certificate, hexadecimal. */
  readonly fingerprint: string;
  /** Of the authority that signed it. */
  readonly authority: string;
  readonly notBefore: number;
  readonly notAfter: number;
}

export type CertificateReading = { readonly kind: 'read'; readonly facts: CertificateFacts } | CertificateRefusal;

export type CertificateRefusal = Refused<'malformed_certificate' | 'unknown_authority' | 'wrong_purpose'>;

export interface TrustedAuthority {
  /** SHA-256 of its certificate, hexadecimal. */
  readonly id: string;
  readonly certificate: X509Certificate;
}

/** What does not change while a connection lives. Time, trust in the authority and the registry are asked each time. */
export function readCertificateFacts(
  certificate: X509Certificate,
  authorities: readonly TrustedAuthority[],
): CertificateReading {
  // OpenSSL has checked the chain; looked at again, because which authority it was decides how long the chain counts.
  const authority = authorities.find((each) => isIssuedBy(certificate, each));
  if (authority === undefined) return refused('unknown_authority');
  // SECURITY: T-35 — for clients and for nothing else, whatever the listener's own TLS settings let pass.
  if (certificate.ca || certificate.keyUsage?.join() !== CLIENT_PURPOSE) return refused('wrong_purpose');
  const names = readDeviceNames(certificate.subjectAltName);
  if (names === undefined) return refused('malformed_certificate');
  return {
    kind: 'read',
    facts: {
      ...names,
      keyDigest: keyDigestOf(certificate.publicKey.export({ type: 'spki', format: 'der' })),
      fingerprint: fingerprintOf(certificate),
      authority: authority.id,
      notBefore: certificate.validFromDate.getTime(),
      notAfter: certificate.validToDate.getTime(),
    },
  };
}

function isIssuedBy(certificate: X509Certificate, { certificate: authority }: TrustedAuthority): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}

export function keyDigestOf(spki: Uint8Array): string {
  return createHash('sha256').update(spki).digest('hex');
}

export function fingerprintOf(certificate: X509Certificate): string {
  return certificate.fingerprint256.replaceAll(':', '').toLowerCase();
}
