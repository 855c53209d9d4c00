import { expect, test } from 'vitest';
import { networkOption } from './network-option.ts';

test.each([
  [undefined, {}],
  ['off', { network: [], unlisted: 'deny' }],
  ['open', { egress: 'none' }],
  ['ask', { network: [], unlisted: 'ask' }],
  ['a.example', { network: ['a.example'], unlisted: 'deny' }],
  ['a.example:80,443, *.b.example,8080', { network: ['a.example:80,443', '*.b.example,8080'], unlisted: 'deny' }],
  ['ask,a.example', { network: ['a.example'], unlisted: 'ask' }],
])('--net %j', (typed, expected) => {
  expect(networkOption(typed, 'strict')).toEqual(expected);
});

test('without a box hosts are only looked at', () => {
  expect(networkOption('a.example', 'limits')).toEqual({ network: ['a.example'], egress: 'preflight' });
});

test.each([['off,a.example'], ['a.example,open'], [','], [''], [true]])('%j is refused with what to write', (typed) => {
  expect(() => networkOption(typed, 'strict')).toThrow(
    expect.objectContaining({ code: 'cli.invalid_option', fix: expect.stringContaining('--net example.org') }),
  );
});
