import { isIPv4, isIPv6 } from 'node:net';
import { DaemonError } from '../daemon-error.ts';

/** Where to listen: what `HOST:PORT` of the settings means. */
export interface ListenPlace {
  readonly host: string;
  readonly port: number;
}

export interface PlaceRules {
  /** The setting, for whoever has to change it. */
  readonly setting: string;
  /** `never`: other hosts reach it whatever the operator allows. */
  readonly remote: 'allowed' | 'not allowed' | 'never';
}

/** Throws `daemon.public_bind`. */
export function placeOf(text: string, { setting, remote }: PlaceRules): ListenPlace {
  const [, bracketed, plain = '', port = ''] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (Number(port) > 65_535) throw publicBind(`${setting} is no address to listen on.`, 'Give HOST:PORT.');
  // SECURITY: T-40 — by the address and not by a name: a name can lead to another address tomorrow.
  if (isLoopback(host)) return { host: host === 'localhost' ? '127.0.0.1' : host, port: Number(port) };
  if (remote === 'allowed' && (isIPv4(host) || isIPv6(host))) return { host, port: Number(port) };
  throw publicBind(
    `${setting} is not a loopback address, so other hosts would reach palyrad.`,
    remote === 'never'
      ? 'Give 127.0.0.1:PORT; only the API, which asks for certificates, can be reached from elsewhere.'
      : 'Give 127.0.0.1:PORT, or set daemon.allow_remote = true and an IP address to listen on.',
  );
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

function publicBind(message: string, fix: string): DaemonError {
  return new DaemonError('daemon.public_bind', message, { fix });
}

/** As clients take it. */
export function renderPlace({ host, port }: ListenPlace): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}
