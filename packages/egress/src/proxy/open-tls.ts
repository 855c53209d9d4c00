import { isIP } from 'node:net';
import { connect as connectTls, rootCertificates } from 'node:tls';
import { denial, type EgressDenial } from '../denial.ts';
import type { Target } from '../hosts/target.ts';
import { createLine, type Line } from './line.ts';

export type OpenedTls =
  | { readonly kind: 'opened'; readonly line: Line }
  | { readonly kind: 'failed'; readonly denial: EgressDenial };

export interface TlsOptions {
  readonly authorities: readonly string[];
  readonly ms: number;
}

/** A verified TLS connection over one that is there. */
export function openTls(line: Line, target: Target, { authorities, ms }: TlsOptions): Promise<OpenedTls> {
  const socket = connectTls({
    socket: line.release(),
    // SECURITY: T-24 — verified, always: what is sent here may carry a credential.
    rejectUnauthorized: true,
    ...(isIP(target.host) === 0 ? { servername: target.host } : { host: target.host }),
    ...(authorities.length === 0 ? {} : { ca: [...rootCertificates, ...authorities] }),
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
  });
  return new Promise((resolve) => {
    const fail = (code: 'egress.bad_certificate' | 'egress.too_slow' | 'egress.not_reached'): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ kind: 'failed', denial: denial(code, target) });
    };
    const timer = setTimeout(() => fail('egress.too_slow'), ms);
    socket.once('error', () =>
      fail(socket.authorizationError === null ? 'egress.not_reached' : 'egress.bad_certificate'),
    );
    socket.once('close', () => fail('egress.not_reached'));
    socket.once('secureConnect', () => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      socket.removeAllListeners('close');
      resolve({ kind: 'opened', line: createLine(socket) });
    });
  });
}
