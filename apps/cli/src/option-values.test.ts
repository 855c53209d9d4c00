import { expect, test } from 'vitest';
import { momentOf, wholeNumber } from './option-values.ts';

const NOW = Date.UTC(2026, 10, 16);
const RANGE = { name: '--limit', from: 1, to: 1000 };

test.each([
  ['2026-11-15', NOW - 86_400_000],
  ['2026-11-16T01:00Z', NOW + 3_600_000],
  ['2026-11-16T01:00:00.5+01:00', NOW + 500],
  ['30m', NOW - 1_800_000],
  ['7d', NOW - 7 * 86_400_000],
  [undefined, undefined],
])('%j is a moment', (typed, moment) => {
  expect(momentOf(typed, '--since', NOW)).toBe(moment);
});

test.each(['', 'now', '2026-11-16T01:00', '2026-13-01', '16.11.2026', '-1h', '1w', '1e3'])(
  '%j is no moment',
  (typed) => {
    expect(() => momentOf(typed, '--since', NOW)).toThrow(expect.objectContaining({ code: 'cli.invalid_option' }));
  },
);

test.each(['0', '1001', '-1', '1.5', '1e2', '', ' 7', '0x10'])('%j is no number from 1 to 1000', (typed) => {
  expect(() => wholeNumber(typed, RANGE)).toThrow(expect.objectContaining({ code: 'cli.invalid_option' }));
});

test('numbers in their range are taken, and absent ones stay absent', () => {
  expect([wholeNumber('1000', RANGE), wholeNumber(undefined, RANGE)]).toEqual([1000, undefined]);
});
