import type { ConnectionAttempt } from '@palyra/egress';
import { expect, test } from 'vitest';
import { attestedUse, toldUse } from './network-use.ts';

const DENIAL = { code: 'egress.host_not_allowed', missing: 'a rule', rule: 'x', message: 'No.', fix: 'Ask.' };

function reached(host: string, bytes = 10): ConnectionAttempt {
  const sizes = { bytesIn: bytes, bytesOut: 1 };
  return { number: 1, at: 0, protocol: 'connect', host, port: 443, outcome: 'allowed', ...sizes };
}

function denied(host: string, times?: number): ConnectionAttempt {
  const denial = { ...DENIAL, host, port: 443 };
  const more = times === undefined ? {} : { times };
  return { ...reached(host, 0), bytesOut: 0, outcome: 'denied', denial, ...more };
}

test('every attempt is a line, in order', () => {
  expect(attestedUse({ attempts: [denied('b.example'), reached('a.example'), denied('b.example')] })).toEqual({
    egress: [
      { host: 'b.example', port: 443, bytes_in: 0, bytes_out: 0, outcome: 'denied', code: 'egress.host_not_allowed' },
      { host: 'a.example', port: 443, bytes_in: 10, bytes_out: 1, outcome: 'allowed' },
      { host: 'b.example', port: 443, bytes_in: 0, bytes_out: 0, outcome: 'denied', code: 'egress.host_not_allowed' },
    ],
  });
});

test('an attempt that failed is one that was allowed, and says what went wrong', () => {
  const failed = { ...denied('a.example'), outcome: 'failed' as const };
  expect(attestedUse({ attempts: [failed] }).egress).toMatchObject([
    { outcome: 'allowed', code: 'egress.host_not_allowed' },
  ]);
});

test('a request that named no host, or one that is none, is a line that the journal takes', () => {
  const attempts = [denied(''), denied('\u202e\u0000x')];
  expect(attestedUse({ attempts }).egress.map(({ host }) => host)).toEqual(['(no host)', '\\u{202E}\\u{0}x']);
});

test('a flood of denied attempts does not push out what was reached, and all are counted', () => {
  const flood = Array.from({ length: 600 }, (_each, at) => denied(`h${at}.example`, at === 0 ? 1000 : undefined));
  const use = attestedUse({ attempts: [...flood, reached('last.example'), reached('last.example')] });
  expect(use.egress).toHaveLength(256);
  expect(use.egress[0]).toEqual({
    host: 'last.example',
    port: 443,
    bytes_in: 20,
    bytes_out: 2,
    outcome: 'allowed',
    connections: 2,
  });
  const listed = use.egress.reduce((sum, { connections = 1 }) => sum + connections, 0);
  expect(listed + (use.egressLeftOut ?? 0)).toBe(600 - 1 + 1000 + 2);
  // One by one, in their order, for the journal.
  expect(use.egressAll?.map(({ host }) => host)).toEqual([
    ...flood.map(({ host }) => host),
    'last.example',
    'last.example',
  ]);
});

test('whoever made the call is told each host once, and each denial in its one shape', () => {
  const attempts = [reached('a.example'), denied('b.example'), denied('b.example')];
  expect(toldUse({ mode: 'strict', hadWayOut: true, attempts })).toEqual({
    egress: 'strict',
    connections: [
      { host: 'a.example', port: 443, bytes_in: 10, bytes_out: 1, outcome: 'allowed' },
      {
        host: 'b.example',
        port: 443,
        bytes_in: 0,
        bytes_out: 0,
        outcome: 'denied',
        code: 'egress.host_not_allowed',
        connections: 2,
      },
    ],
    denied_connections: [{ ...DENIAL, host: 'b.example', port: 443 }],
  });
  expect(toldUse({ mode: 'strict', hadWayOut: true, attempts: [] })).toEqual({});
});
