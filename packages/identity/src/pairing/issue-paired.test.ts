import { expect, test } from 'vitest';
import { pairedPrincipal } from './issue-paired.ts';
import { isOwnAddress } from './own-address.ts';

const INTERFACES = {
  lo: [{ address: '127.0.0.1' }],
  eth0: [{ address: '192.0.2.7' }, { address: 'fe80::1' }, { address: '2001:db8::7' }],
} as unknown as Parameters<typeof isOwnAddress>[1];

test.each([
  ['127.0.0.1', true],
  ['127.8.8.8', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['192.0.2.7', true],
  ['::FFFF:192.0.2.7', true],
  ['fe80::1%eth0', true],
  ['2001:db8::7', true],
  ['192.0.2.8', false],
  ['fe80::2%eth0', false],
  ['', false],
])('%s is an address of this host: %s', (address, expected) => {
  expect(isOwnAddress(address, INTERFACES)).toBe(expected);
});

const OPERATOR = 'user:ada';
const principal = (name: string) => pairedPrincipal({ kind: 'agent', name }, OPERATOR);

test('a name is its principal where it can be written as one, and an operator’s device is the operator’s', () => {
  expect([principal('ci runner'), principal('build-03')]).toEqual(['agent:ci-runner', 'agent:build-03']);
  expect(pairedPrincipal({ kind: 'node', name: 'attic' }, OPERATOR)).toBe('service:attic');
  expect(pairedPrincipal({ kind: 'operator', name: 'phone' }, OPERATOR)).toBe('user:ada');
});

test('names that cannot be written so are different principals all the same, and every name is one', () => {
  const names = [
    'строитель',
    '数据',
    'שלום',
    'Büro',
    'Buro',
    'a/b',
    'a:b',
    '.x',
    'x'.repeat(64),
    'x'.repeat(63),
    '🐢'.repeat(64),
  ];
  const principals = names.map(principal);
  expect(new Set(principals).size).toBe(names.length);
  for (const each of principals) expect(each).toMatch(/^agent:[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$/);
});
