import { isIPv6 } from 'node:net';

/**
 * Who counts as one when failures and connections are counted: an IPv4 address, however it is written; an IPv6 /64, of which
 * one host has all addresses.
 * SECURITY: T-34, T-39 — and all of loopback, of which every process of this host has sixteen million.
 */
export function networkOf(address: string): string {
  const [bare = ''] = address.replace(/^::ffff:(?=\d+\.)/i, '').split('%');
  if (bare === '::1' || bare.startsWith('127.')) return 'loopback';
  if (!isIPv6(bare)) return bare;
  const [head = '', tail] = bare.split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...front, ...Array<string>(Math.max(0, 8 - front.length - back.length)).fill('0'), ...back];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
