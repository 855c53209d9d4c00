import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import type { SystemFile } from './host-survey.ts';
import { isAtOrBelow, type SurveyFiles } from './survey-files.ts';

/** An authority that one box trusts beside the system's: for the TLS that its proxy ends. */
export interface TrustedAuthority {
  /** Alone, for programs that add it to their own. */
  readonly certificate: Uint8Array;
  /** After the system's, for programs that know one file only. */
  readonly bundle: Uint8Array;
  /** Where programs find the system's when nobody told them: in the box, every link resolved. */
  readonly over: readonly string[];
}

/** Debian and its kin, Fedora and its kin. */
const SYSTEM_BUNDLES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt'];
const MOST_BYTES = 4 * 1024 * 1024;

/** Made for each run: whoever changes what the host trusts changes it for the next one. */
export function trustAuthority(
  certificate: string,
  systemFiles: readonly SystemFile[],
  files: Pick<SurveyFiles, 'realPath' | 'stat'>,
): TrustedAuthority {
  const mounted = systemFiles.filter(({ kind }) => kind === 'mount').flatMap(({ path }) => files.realPath(path) ?? []);
  const found = SYSTEM_BUNDLES.flatMap((path) => {
    const real = files.realPath(path);
    return real !== undefined && files.stat(real)?.kind === 'file' ? [real] : [];
  });
  const system = found.map((path) => readFileSync(path)).find(({ length }) => length > 0 && length <= MOST_BYTES);
  return {
    certificate: Buffer.from(certificate),
    // Where the host has none, what Node brings along: a file with one authority in it would end all other TLS.
    bundle: Buffer.from(`${system?.toString('latin1') ?? rootCertificates.join('\n')}\n${certificate}`, 'latin1'),
    over: [...new Set(found)].filter((path) => mounted.some((root) => isAtOrBelow(path, root))),
  };
}

const ONE_CERTIFICATE =
  /^-----BEGIN CERTIFICATE-----\n(?:[A-Za-z0-9+/]{1,76}={0,2}\n){1,128}-----END CERTIFICATE-----\n$/;

/** SECURITY: T-24 — one certificate and nothing else: a key beside it would lie in the box. */
export function isOneAuthority(pem: string): boolean {
  if (!ONE_CERTIFICATE.test(pem)) return false;
  try {
    return new X509Certificate(pem).ca;
  } catch {
    return false;
  }
}
