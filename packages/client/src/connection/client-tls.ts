import type { ConnectionOptions, PeerCertificate } from 'node:tls';

/** A device's certificate with its key, and the authorities of its home. All PEM. */
export interface TlsFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** In every certificate that a home gives to its palyrad, and in no other. */
const SERVER_NAME = 'URI:palyra://server';

export const NOT_PALYRAD = 'ERR_PALYRA_NOT_PALYRAD';

export type ClientTls = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'minVersion' | 'maxVersion' | 'checkServerIdentity'
>;

/** Without `cert` and `key`: for a token. */
export function clientTls({ ca, cert, key }: Pick<TlsFiles, 'ca'> & Partial<TlsFiles>): ClientTls {
  return {
    // SECURITY: T-35 — the home's own authority and no other: what the system trusts says nothing about palyrad.
    ca,
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
    maxVersion: 'TLSv1.3',
    // Addresses change, and a name on the network proves nothing; the authority gives this name to palyrad alone.
    checkServerIdentity: (_host, certificate) => checkServer(certificate),
  };
}

function checkServer({ subjectaltname }: PeerCertificate): Error | undefined {
  // SECURITY: T-35 — a device of the same home must not pass for its palyrad and collect what agents say.
  if ((subjectaltname ?? '').split(', ').includes(SERVER_NAME)) return undefined;
  return Object.assign(new Error('The certificate is not one of palyrad.'), { code: NOT_PALYRAD });
}
