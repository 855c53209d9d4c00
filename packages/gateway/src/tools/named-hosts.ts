import { BlockList, isIP } from 'node:net';

/** Hosts as a caller wrote them, in the one spelling that policy and the sandbox compare. */
export type NamedHosts =
  | { readonly kind: 'named'; readonly hosts: readonly string[]; readonly privateHosts: readonly string[] }
  | { readonly kind: 'malformed'; readonly at: number };

const DEFAULT_PORT = '443';
const WRITTEN = /^(?<host>\[[0-9A-Fa-f:.]+\]|[^\s/:@?#[\]\\%]+)(?::(?<port>[0-9]{1,5}))?$/u;

/** `HOST` or `HOST:PORT`; without a port the one of https. */
export function nameHosts(written: readonly string[]): NamedHosts {
  const hosts = written.map(canonicalHost);
  const at = hosts.indexOf(undefined);
  if (at >= 0) return { kind: 'malformed', at };
  const known = [...new Set(hosts.filter((host) => host !== undefined))];
  return { kind: 'named', hosts: known, privateHosts: known.filter(isPrivate) };
}

/** SECURITY: T-21 — as a URL reads it: case, dots at the end, letters of other scripts and numbers that are addresses. */
function canonicalHost(written: string): string | undefined {
  const { host = '', port = DEFAULT_PORT } = WRITTEN.exec(written)?.groups ?? {};
  const name = URL.parse(`http://${host}`)?.hostname.replace(/\.$/, '') ?? '';
  const number = Number(port);
  return name === '' || number < 1 || number > 65_535 ? undefined : `${name}:${number}`;
}

const LOCAL_NAMES = /(?:^|\.)(?:localhost|local|internal|localdomain|home\.arpa)$/;

/** SECURITY: T-23 — by its name alone; where a public name leads is for the proxy to look at when it connects. */
function isPrivate(hostAndPort: string): boolean {
  const host = hostAndPort.slice(0, hostAndPort.lastIndexOf(':')).replace(/^\[|\]$/g, '');
  const family = isIP(host);
  if (family === 0) return LOCAL_NAMES.test(host) || !host.includes('.');
  return family === 4
    ? NOT_PUBLIC.check(host, 'ipv4')
    : !GLOBAL_UNICAST.check(host, 'ipv6') || NOT_PUBLIC.check(host, 'ipv6');
}

/** Everything else of IPv6 is loopback, link-local, private, multicast, mapped or translated. */
const GLOBAL_UNICAST = new BlockList();
GLOBAL_UNICAST.addSubnet('2000::', 3, 'ipv6');

const NOT_PUBLIC = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  NOT_PUBLIC.addSubnet(net, prefix, 'ipv4');
}
// 6to4, Teredo and documentation: what they stand for cannot be seen from here.
for (const [net, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
] as const) {
  NOT_PUBLIC.addSubnet(net, prefix, 'ipv6');
}
