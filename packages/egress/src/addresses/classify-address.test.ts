import fc from 'fast-check';
import { expect, test } from 'vitest';
import { classifyAddress, isPublicAddress } from './classify-address.ts';
import { createPrivateRanges } from './private-ranges.ts';

test.each([
  ['93.184.216.34', 'public'],
  ['2606:4700::1111', 'public'],
  ['0.0.0.0', 'unspecified'],
  ['10.1.2.3', 'private'],
  ['100.64.0.1', 'cgnat'],
  ['100.100.100.200', 'metadata'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['168.63.129.16', 'metadata'],
  ['169.254.169.254', 'metadata'],
  ['169.254.170.2', 'metadata'],
  ['169.254.1.1', 'link-local'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['172.32.0.1', 'public'],
  ['192.0.0.192', 'metadata'],
  ['192.0.2.1', 'documentation'],
  ['192.88.99.1', '6to4'],
  ['192.168.1.1', 'private'],
  ['198.18.0.1', 'benchmark'],
  ['224.0.0.1', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['::127.0.0.1', 'mapped'],
  ['::ffff:10.0.0.1', 'mapped'],
  ['::ffff:0:10.0.0.1', 'mapped'],
  ['64:ff9b::a00:1', 'nat64'],
  ['64:ff9b:1::1', 'nat64'],
  ['2001::1', 'teredo'],
  ['2001:db8::1', 'documentation'],
  ['2001:20::1', 'reserved'],
  ['2002:a00:1::', '6to4'],
  ['fd00:ec2::254', 'metadata'],
  ['fd20:ce::254', 'metadata'],
  ['fd00::1', 'private'],
  ['fe80::1', 'link-local'],
  ['fec0::1', 'private'],
  ['ff02::1', 'multicast'],
  ['100::1', 'reserved'],
  ['4000::1', 'reserved'],
  ['fe80::1%eth0', 'not-an-address'],
  ['localhost', 'not-an-address'],
  ['0x7f.1', 'not-an-address'],
])('%s is %s', (address, kind) => {
  expect(classifyAddress(address)).toBe(kind);
});

test('no address outside of global unicast is public', () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      if (!isPublicAddress(address)) return;
      expect(Number.parseInt(address.split(':')[0] ?? '', 16) >> 13).toBe(1);
    }),
  );
});

test('the operator opens a network, or one port of one address', () => {
  const ranges = createPrivateRanges(['10.0.0.0/8', 'fd00::/8', '127.0.0.1:8080', '[::1]:9090', '169.254.0.0/16']);
  const allowed = (address: string, port: number): boolean => ranges.allows(address, port);
  expect(allowed('10.9.8.7', 1)).toBe(true);
  expect(allowed('fd00::5', 1)).toBe(true);
  expect(allowed('11.0.0.1', 1)).toBe(false);
  expect(allowed('127.0.0.1', 8080)).toBe(true);
  expect(allowed('127.0.0.1', 8081)).toBe(false);
  expect(allowed('::1', 9090)).toBe(true);
  expect(allowed('169.254.3.3', 80)).toBe(true);
});

test('a network never opens the metadata of a cloud; only its very address and port does', () => {
  expect(createPrivateRanges(['169.254.0.0/16', '0.0.0.0/0']).allows('169.254.169.254', 80)).toBe(false);
  expect(createPrivateRanges(['fd00::/8']).allows('fd00:ec2::254', 80)).toBe(false);
  expect(createPrivateRanges(['169.254.169.254:80']).allows('169.254.169.254', 80)).toBe(true);
});

test.each([
  '10.0.0.0',
  '10.0.0.0/33',
  'fd00::/129',
  'localhost:80',
  '127.1:80',
  '127.0.0.1:0',
  '127.0.0.1',
  '',
  '[::ffff:1.2.3.4]:80',
])('%j is no exception', (text) => {
  expect(() => createPrivateRanges([text])).toThrow(expect.objectContaining({ code: 'egress.bad_range' }));
});

test('a network that holds the clouds’ metadata does not open it by the IPv6 spelling of its address either', () => {
  const ranges = createPrivateRanges(['169.254.0.0/16', '100.64.0.0/10']);
  const spellings = ['169.254.169.254', '::ffff:169.254.169.254', '::ffff:100.100.100.200'];
  expect(spellings.map((address) => ranges.allows(address, 80))).toEqual([false, false, false]);
  expect(ranges.allows('169.254.1.1', 80)).toBe(true);
});
