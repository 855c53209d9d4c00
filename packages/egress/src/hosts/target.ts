import { canonicalHost, isMalformed, type Malformed, malformed } from './canonical-host.ts';

export type Scheme = 'http' | 'https';

/** What a connection is for. `host` is in its one spelling; an IPv6 address has no brackets. */
export interface Target {
  readonly host: string;
  readonly port: number;
  /** Absent when it does not show, as in a tunnel that has not begun yet. */
  readonly scheme?: Scheme;
}

/** Ports that a scheme means when none is written. */
export const SCHEME_PORTS: Readonly<Record<string, number>> = {
  http: 80,
  ws: 80,
  https: 443,
  wss: 443,
  ftp: 21,
  ftps: 990,
  sftp: 22,
  ssh: 22,
  git: 9418,
  telnet: 23,
  smtp: 25,
  smtps: 465,
  imap: 143,
  imaps: 993,
  pop3: 110,
  pop3s: 995,
  ldap: 389,
  ldaps: 636,
  mqtt: 1883,
  redis: 6379,
  postgres: 5432,
  postgresql: 5432,
  mysql: 3306,
  mongodb: 27_017,
  rtsp: 554,
  rsync: 873,
  socks: 1080,
  socks4: 1080,
  socks4a: 1080,
  socks5: 1080,
  socks5h: 1080,
  gopher: 70,
  dict: 2628,
};

const URL_FORM = /^([a-z][a-z0-9+.-]*):\/\/([^/?#\\]*)/i;
const AUTHORITY = /^(\[[^\]]*\]|[^:]*)(?::([0-9]*))?$/s;

/** `HOST`, `HOST:PORT` or a URL; without a port the one of the scheme, else `defaultPort`. Never throws. */
export function canonicalTarget(text: string, defaultPort = 443): Target | Malformed {
  const [, written = '', authority] = URL_FORM.exec(text) ?? [];
  if (authority === undefined) return targetOf(text, { defaultPort });
  const scheme = written.toLowerCase().replace(/^git\+|^svn\+/, '');
  const port = SCHEME_PORTS[scheme] ?? defaultPort;
  // SECURITY: T-21 — the host is behind the last at sign: what is in front of it only looks like one.
  return targetOf(authority.slice(authority.lastIndexOf('@') + 1), { defaultPort: port, ...schemeOf(scheme) });
}

/** `HOST:PORT` as CONNECT and the Host header write it. */
export function canonicalAuthority(authority: string, scheme?: Scheme): Target | Malformed {
  const defaultPort = scheme === undefined ? undefined : SCHEME_PORTS[scheme];
  return targetOf(authority, {
    ...(defaultPort === undefined ? {} : { defaultPort }),
    ...(scheme === undefined ? {} : { scheme }),
  });
}

/** `host:port`, an IPv6 address in brackets. */
export function formatTarget({ host, port }: Pick<Target, 'host' | 'port'>): string {
  return `${inBrackets(host)}:${port}`;
}

export function inBrackets(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function schemeOf(scheme: string): { readonly scheme?: Scheme } {
  if (scheme === 'http' || scheme === 'ws') return { scheme: 'http' };
  if (scheme === 'https' || scheme === 'wss') return { scheme: 'https' };
  return {};
}

function targetOf(
  authority: string,
  { defaultPort, scheme }: { readonly defaultPort?: number; readonly scheme?: Scheme },
): Target | Malformed {
  const bare = canonicalHost(authority);
  if (!isMalformed(bare)) return withPort(bare.host, defaultPort, scheme);
  const [, written, digits] = AUTHORITY.exec(authority) ?? [];
  if (written === undefined) return bare;
  if (digits === undefined) return bare;
  const host = canonicalHost(written);
  if (isMalformed(host)) return host;
  // An IPv6 address without brackets has no port, and a port has a number.
  return withPort(host.host, /^[0-9]{1,5}$/.test(digits) ? Number(digits) : 0, scheme);
}

function withPort(host: string, port: number | undefined, scheme: Scheme | undefined): Target | Malformed {
  if (port === undefined || port < 1 || port > 65_535) return malformed('bad_port');
  return { host, port, ...(scheme === undefined ? {} : { scheme }) };
}
