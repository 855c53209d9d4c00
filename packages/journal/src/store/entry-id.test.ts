import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firstOf, idOf, LEAST_ID, MOST_ENTRIES, MOST_LOGS, numberIn } from './entry-id.ts';

const logs = fc.integer({ min: 1, max: MOST_LOGS });
const numbers = fc.integer({ min: 0, max: MOST_ENTRIES });

test('an id tells the log and the number, and stands in their order', () => {
  fc.assert(
    fc.property(logs, numbers, logs, numbers, (log, number, otherLog, otherNumber) => {
      const id = idOf(log, number);
      expect(Number.isSafeInteger(id)).toBe(true);
      expect(numberIn(log, id)).toBe(number);
      expect(id >= firstOf(log) && id < firstOf(log + 1)).toBe(true);
      const isBefore = log < otherLog || (log === otherLog && number < otherNumber);
      expect(id < idOf(otherLog, otherNumber)).toBe(isBefore);
    }),
  );
});

test.each([
  [1, -1],
  [1, MOST_ENTRIES + 1],
  [1, Number.NaN],
  [-1, 0],
  [MOST_LOGS + 1, 0],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
])('log %d has no entry %d, and what is looked for by it is not found', (log, number) => {
  expect(idOf(log, number)).toBeLessThan(LEAST_ID);
});
