import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { hangUpLater } from './hang-up-later.ts';

test('SECURITY: T-35 — who is connected when they stop to count is hung up on within a second, and whoever comes after', async () => {
  const clock = createFakeClock();
  const over = new AbortController();
  let counts = true;
  let hungUp = 0;
  const watching = hangUpLater({
    checked: async () => {
      if (!counts) throw new Error('revoked');
    },
    close: () => {
      hungUp += 1;
    },
    clock,
    signal: over.signal,
  });
  await clock.advance(5_000);
  expect(hungUp).toBe(0);
  counts = false;
  await clock.advance(1_000);
  expect(hungUp).toBe(1);
  await clock.advance(1_000);
  expect(hungUp).toBe(2);
  over.abort('over');
  await watching;
  expect(clock.dueTimes()).toEqual([]);
});
