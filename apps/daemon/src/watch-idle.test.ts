import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { untilIdle } from './watch-idle.ts';

const MINUTE = 60_000;

async function letPass(clock: ReturnType<typeof createFakeClock>, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 5_000) await clock.advance(Math.min(5_000, left));
}

test('it ends when nobody used it for so long, counted from the last use', async () => {
  const clock = createFakeClock();
  let isUsed = true;
  let ended: boolean | undefined;
  const { signal } = new AbortController();
  void untilIdle({ isUsed: async () => isUsed, idleMs: 2 * MINUTE, clock, signal }).then((each) => {
    ended = each;
  });
  await letPass(clock, 10 * MINUTE);
  expect(ended).toBeUndefined();
  isUsed = false;
  await letPass(clock, 2 * MINUTE - 5_000);
  expect(ended).toBeUndefined();
  await letPass(clock, 10_000);
  expect(ended).toBe(true);
});

test('what cannot be found out counts as use, and an end from elsewhere ends the watch', async () => {
  const clock = createFakeClock();
  const stopping = new AbortController();
  const unknown = () => Promise.reject(new Error('The disk is gone.'));
  const watching = untilIdle({ isUsed: unknown, idleMs: MINUTE, clock, signal: stopping.signal });
  await letPass(clock, 10 * MINUTE);
  stopping.abort();
  expect(await watching).toBe(false);
});
