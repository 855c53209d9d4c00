import { BlockList, isIP } from 'node:net';

/** What an address is for. Only `public` is reached without the operator's word. */
export type AddressKind =
  | 'public'
  | 'unspecified'
  | 'loopback'
  | 'private'
  | 'link-local'
  /** Carrier-grade NAT: the provider's own network. */
  | 'cgnat'
  /** Where clouds hand credentials to whoever asks. */
  | 'metadata'
  | 'multicast'
  | 'broadcast'
  | 'documentation'
  | 'benchmark'
  | 'reserved'
  /** IPv6 that carries an IPv4 address to a machine that unpacks it: where it ends cannot be seen from here. */
  | 'nat64'
  | '6to4'
  | 'teredo'
  | 'mapped'
  | 'not-an-address';

type Subnet = readonly [net: string, prefix: number, kind: AddressKind];

/** Single addresses of the clouds; some lie in ranges that look public or that operators open. */
const METADATA_IPV4 = [
  '169.254.169.254',
  '169.254.169.253',
  '169.254.170.2',
  '169.254.170.23',
  '169.254.0.23',
  '169.254.42.42',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
];
const METADATA_IPV6 = ['fd00:ec2::254', 'fd00:ec2::23', 'fd00:ec2::253', 'fd20:ce::254', 'fe80::a9fe:a9fe'];

const IPV4: readonly Subnet[] = [
  ...METADATA_IPV4.map((net): Subnet => [net, 32, 'metadata']),
  ['0.0.0.0', 8, 'unspecified'],
  ['10.0.0.0', 8, 'private'],
  ['100.64.0.0', 10, 'cgnat'],
  ['127.0.0.0', 8, 'loopback'],
  ['169.254.0.0', 16, 'link-local'],
  ['172.16.0.0', 12, 'private'],
  ['192.0.0.0', 24, 'reserved'],
  ['192.0.2.0', 24, 'documentation'],
  ['192.31.196.0', 24, 'reserved'],
  ['192.52.193.0', 24, 'reserved'],
  ['192.88.99.0', 24, '6to4'],
  ['192.168.0.0', 16, 'private'],
  ['192.175.48.0', 24, 'reserved'],
  ['198.18.0.0', 15, 'benchmark'],
  ['198.51.100.0', 24, 'documentation'],
  ['203.0.113.0', 24, 'documentation'],
  ['224.0.0.0', 4, 'multicast'],
  ['255.255.255.255', 32, 'broadcast'],
  ['240.0.0.0', 4, 'reserved'],
];

const IPV6: readonly Subnet[] = [
  ...METADATA_IPV6.map((net): Subnet => [net, 128, 'metadata']),
  ['::', 128, 'unspecified'],
  ['::1', 128, 'loopback'],
  ['::ffff:0:0', 96, 'mapped'],
  ['::ffff:0:0:0', 96, 'mapped'],
  ['::', 96, 'mapped'],
  ['64:ff9b::', 96, 'nat64'],
  ['64:ff9b:1::', 48, 'nat64'],
  ['2001::', 32, 'teredo'],
  ['2001:db8::', 32, 'documentation'],
  ['2001::', 23, 'reserved'],
  ['2002::', 16, '6to4'],
  ['3fff::', 20, 'documentation'],
  ['5f00::', 16, 'reserved'],
  ['100::', 64, 'reserved'],
  ['fc00::', 7, 'private'],
  ['fe80::', 10, 'link-local'],
  ['fec0::', 10, 'private'],
  ['ff00::', 8, 'multicast'],
];

const TABLES = { 4: tableOf(IPV4, 'ipv4'), 6: tableOf(IPV6, 'ipv6') } as const;

/** What is left of IPv6 when everything named above is taken away. */
const GLOBAL_UNICAST = new BlockList();
GLOBAL_UNICAST.addSubnet('2000::', 3, 'ipv6');

/** SECURITY: T-23 — what is not known to be public is not: new ranges are closed until somebody writes them down. */
export function classifyAddress(address: string): AddressKind {
  const family = isIP(address);
  if (family === 0 || address.includes('%')) return 'not-an-address';
  const type = family === 4 ? 'ipv4' : 'ipv6';
  for (const [list, kind] of TABLES[family === 4 ? 4 : 6]) if (list.check(address, type)) return kind;
  return family === 4 || GLOBAL_UNICAST.check(address, 'ipv6') ? 'public' : 'reserved';
}

export function isPublicAddress(address: string): boolean {
  return classifyAddress(address) === 'public';
}

/** In the order of the list: the first that holds an address names it. */
function tableOf(subnets: readonly Subnet[], type: 'ipv4' | 'ipv6'): readonly (readonly [BlockList, AddressKind])[] {
  return subnets.map(([net, prefix, kind]) => {
    const list = new BlockList();
    list.addSubnet(net, prefix, type);
    return [list, kind] as const;
  });
}
