import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance, nearestName } from './nearest-name.ts';

const KEYS = ['url', 'lock_timeout_ms', 'pool_size', 'level'];

test.each([
  ['urll', 'url'],
  ['ulr', 'url'],
  ['URL', 'url'],
  ['poolsize', 'pool_size'],
  ['lock', 'lock_timeout_ms'],
  ['lock_timeout', 'lock_timeout_ms'],
  ['url_of_the_database', 'url'],
  ['levl', 'level'],
  ['lvl', 'level'],
  ['lock_timeuot_ms', 'lock_timeout_ms'],
])('%s is taken for %s', (written, expected) => {
  expect(nearestName(written, KEYS)).toBe(expected);
});

test.each(['', 'x', 'password', 'size_of_the_pool', 'u'.repeat(100_000)])('%.20s is close to nothing', (written) => {
  expect(nearestName(written, KEYS)).toBeUndefined();
});

test('of two equally close names the first is offered', () => {
  expect(nearestName('bat', ['cat', 'rat'])).toBe('cat');
});

test('the distance is symmetric, zero only for equals and never more than the longer text', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
      const distance = editDistance(a, b);
      expect(editDistance(b, a)).toBe(distance);
      expect(distance === 0).toBe(a === b);
      expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      expect(distance).toBeGreaterThanOrEqual(Math.abs(a.length - b.length));
    }),
  );
});
