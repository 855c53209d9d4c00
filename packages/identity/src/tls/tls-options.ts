import { constants } from 'node:crypto';
import type { PeerCertificate, SecureContextOptions, TlsOptions } from 'node:tls';
import { SERVER_URI } from '../x509/certificate-names.ts';

/** A key with its certificate, and whom it meets. All PEM. */
export interface TlsIdentity {
  readonly key: string;
  readonly certificate: string;
  /** Of the authorities that count. */
  readonly authorities: string;
}

export type ServerTlsOptions = SecureContextOptions &
  Pick<TlsOptions, 'requestCert' | 'rejectUnauthorized' | 'handshakeTimeout'>;

/** For `tls.createServer`, `https.createServer`, `http2.createSecureServer`, and again for `setSecureContext`. */
export function serverTlsOptions({ key, certificate, authorities }: TlsIdentity): ServerTlsOptions {
  return {
    key,
    cert: certificate,
    ca: authorities,
    // SECURITY: T-35 — nobody gets as far as a request without a certificate of ours.
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
    maxVersion: 'TLSv1.3',
    // SECURITY: T-55 — without this option a session ticket carries an expired or revoked certificate past every check of
    // the handshake. With it OpenSSL looks for the session in a store, and Node keeps one only for listeners of
    // `newSession` and `resumeSession`, of which we have none.
    secureOptions: constants.SSL_OP_NO_TICKET,
    handshakeTimeout: 10_000,
  };
}

/** For listeners of clients that have a token and no certificate. They ask for none, so none can stand for the token. */
export function tokenServerTlsOptions(identity: Pick<TlsIdentity, 'key' | 'certificate'>): ServerTlsOptions {
  const { ca: _ca, ...others } = serverTlsOptions({ ...identity, authorities: '' });
  return { ...others, requestCert: false, rejectUnauthorized: false };
}

export interface ClientTlsOptions extends SecureContextOptions {
  readonly rejectUnauthorized: true;
  /** Undefined when it is palyrad. */
  checkServerIdentity(host: string, certificate: PeerCertificate): Error | undefined;
}

/** For `tls.connect`, `https.request` and `http2.connect`. An `https.Agent` also takes `maxCachedSessions: 0`. */
export function clientTlsOptions({ key, certificate, authorities }: TlsIdentity): ClientTlsOptions {
  return { ...anonymousTlsOptions(authorities), key, cert: certificate };
}

/** For a device that has no certificate yet, and knows the authority. */
export function anonymousTlsOptions(authorities: string): ClientTlsOptions {
  return {
    ca: authorities,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
    maxVersion: 'TLSv1.3',
    checkServerIdentity: (_host, certificate) => checkServer(certificate),
  };
}

/**
 * The authority is this home's own and gives certificates for servers to palyrad alone, so its word is enough: addresses
 * change, and a name on the network proves nothing to us. That the certificate is one for servers, OpenSSL has checked.
 */
function checkServer({ subjectaltname }: PeerCertificate): Error | undefined {
  const names = (subjectaltname ?? '').split(', ');
  return names.includes(`URI:${SERVER_URI}`) ? undefined : new Error('The certificate is not one of palyrad.');
}
