import { X509Certificate } from 'node:crypto';
import type { CertificateFiles, Credential } from '../credentials/credential.ts';
import { fingerprintOf, keyDigestOf, readCertificateFacts } from '../x509/certificate-facts.ts';

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Whether what came can take the place of what is there: what cannot be used must not replace what can. */
export function isUsableRenewal(
  { certificatePem, caPem }: CertificateFiles,
  { device, kind, key }: Credential,
): boolean {
  try {
    const authorities = (caPem.match(CERTIFICATES) ?? []).map((pem) => {
      const certificate = new X509Certificate(pem);
      return { id: fingerprintOf(certificate), certificate };
    });
    // SECURITY: T-35 — a list in which anything but authorities stands would make a leaf vouch for servers.
    if (!authorities.every(({ certificate }) => certificate.ca)) return false;
    const reading = readCertificateFacts(new X509Certificate(certificatePem), authorities);
    if (reading.kind === 'refused') return false;
    const { facts } = reading;
    return facts.device === device && facts.kind === kind && facts.keyDigest === keyDigestOf(key.publicKey);
  } catch {
    return false;
  }
}
