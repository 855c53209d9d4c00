import { expect, test } from 'vitest';
import { connectionInWords, connectionsIn, networkInWords, wasAskedAbout } from './connections.ts';

const LINES = [
  { host: 'a.example', port: 443, outcome: 'allowed', bytes_in: 10, bytes_out: 2 },
  {
    host: '::1',
    port: 80,
    outcome: 'denied',
    code: 'egress.address_not_allowed',
    bytes_in: 0,
    bytes_out: 0,
    connections: 3,
  },
  { host: 'c.example', port: 443, outcome: 'allowed', code: 'egress.not_reached' },
];

test('connections are told one by one', () => {
  expect(connectionsIn([...LINES, null, 'x', { host: 1 }]).map(connectionInWords)).toEqual([
    'a.example:443 allowed, 2 bytes out, 10 in',
    '[::1]:80 denied (egress.address_not_allowed), 3 times, 0 bytes out, 0 in',
    'c.example:443 allowed (egress.not_reached), 0 bytes out, 0 in',
  ]);
});

test('and in a few words', () => {
  expect(networkInWords(connectionsIn(LINES))).toBe('reached a.example:443, 1 host denied');
  expect(networkInWords(connectionsIn(LINES.slice(2)))).toBe('no host reached');
  expect(connectionsIn(undefined)).toEqual([]);
});

test('a human was asked when one of them was refused by nobody else, or let through by their word', () => {
  const one = (code: string) => connectionsIn([{ host: 'a.example', port: 80, outcome: 'denied', code }]);
  expect(wasAskedAbout(one('gateway.approval_denied'), [])).toBe(true);
  expect(wasAskedAbout(one('policy.forbidden'), undefined)).toBe(false);
  expect(wasAskedAbout([], [{ target: 'a.example:80', approval_id: '01M7' }])).toBe(true);
  expect(wasAskedAbout([], [{ target: 'a.example:80' }])).toBe(false);
});
