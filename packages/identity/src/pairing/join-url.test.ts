import { reveal, type Sha256Hex } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { parseJoinTarget, renderJoinUrl } from './join-url.ts';

const ID = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
const CA = 'ab'.repeat(32) as Sha256Hex;
const CODE = 'AAAAAAAAAAAAAAAAAAAAAA';

test.each(['192.0.2.1', 'host.example', '2001:db8::1', 'fe80::1%eth0'])('a join URL for %s comes back', (host) => {
  const target = { address: { host, port: 7_443 }, invitation: ID, ca: CA };
  const url = renderJoinUrl(target, CODE);
  const { code, ...others } = parseJoinTarget(url);
  expect([others, code === undefined ? '' : reveal(code)]).toEqual([target, CODE]);
  const { code: none, ...bare } = parseJoinTarget(url.split('#')[0] ?? '');
  expect([bare, none]).toEqual([target, undefined]);
});

test.each([
  ['localhost:1', { host: 'localhost', port: 1 }],
  ['[::1]:65535', { host: '::1', port: 65_535 }],
])('%s is an address', (text, address) => {
  expect(parseJoinTarget(text)).toEqual({ address });
});

test.each([
  '',
  'host',
  'host:0',
  'host:65536',
  'host:port',
  '[host]:1',
  '::1:80',
  'https://host:1/join/x',
  `palyra://host:1/join/${ID}`,
  `palyra://host:1/join/${ID.toLowerCase()}?ca=${Buffer.from(CA, 'hex').toString('base64url')}`,
  `palyra://host:1/join/${ID}?ca=${'A'.repeat(42)}B`,
  `palyra://user@host:1/join/${ID}?ca=${Buffer.from(CA, 'hex').toString('base64url')}#${CODE}`,
  `palyra://host:1/join/${ID}?ca=${Buffer.from(CA, 'hex').toString('base64url')}#${CODE}x`,
])('%s is neither', (text) => {
  expect(() => parseJoinTarget(text)).toThrow(expect.objectContaining({ code: 'pairing.invalid_url' }));
});

test('what cannot be read is not repeated where it may hold the secret', () => {
  expect(() => parseJoinTarget(`palyra//host#${CODE}`)).toThrow(/^This is neither/);
});
