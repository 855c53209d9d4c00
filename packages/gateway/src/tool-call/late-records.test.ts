import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { createLateRecords } from './late-records.ts';

function failing(times: number) {
  const clock = createFakeClock();
  const tried: number[] = [];
  const begun = clock.now();
  const record = async () => {
    tried.push(clock.now() - begun);
    if (tried.length <= times) throw new Error('full');
  };
  return { clock, tried, record };
}

test('is tried later and later, until it is recorded', async () => {
  const { clock, tried, record } = failing(9);
  const late = createLateRecords(clock);
  late.keep(record);
  expect(late.size).toBe(1);
  for (let seconds = 0; seconds < 200; seconds += 1) for (const _ of [1, 2, 3, 4]) await clock.advance(250);
  expect(tried).toEqual([250, 750, 1750, 3750, 7750, 15_750, 31_750, 61_750, 91_750, 121_750]);
  expect(late.size).toBe(0);
});

test('nothing is tried after the end', async () => {
  const { clock, tried, record } = failing(9);
  const late = createLateRecords(clock);
  late.keep(record);
  late.close();
  late.keep(record);
  await clock.advance(1_000_000);
  expect([tried, late.size]).toEqual([[], 0]);
});
