import { X509Certificate } from 'node:crypto';
import type { CertificateAuthority } from '../ca/open-authority.ts';
import type { Device } from '../registry/device.ts';
import { keyDigestOf, readCertificateFacts } from '../x509/certificate-facts.ts';

export interface VouchedKeyDeps {
  readonly authority: Pick<CertificateAuthority, 'trusted'>;
  now(): number;
}

/**
 * Whether the authority vouches, now, for this key, this device and this kind. Throws as `CertificateAuthority.trusted` does.
 * SECURITY: T-46, T-06 — whoever can write the registry could otherwise put a key of their own in the place of a person's,
 * or call an agent an operator, and sign for them.
 */
export function isVouchedFor(device: Device, { authority, now }: VouchedKeyDeps): boolean {
  const certificate = parse(device.certificatePem);
  const reading = certificate === undefined ? undefined : readCertificateFacts(certificate, authority.trusted());
  if (reading?.kind !== 'read') return false;
  const { facts } = reading;
  const isOfThis = facts.device === device.id && facts.kind === device.kind;
  const isCurrent = facts.notBefore <= now() && now() < facts.notAfter;
  return isOfThis && isCurrent && facts.keyDigest === keyDigestOf(device.publicKey);
}

function parse(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}
