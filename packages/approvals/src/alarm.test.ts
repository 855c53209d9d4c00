import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { createAlarm } from './alarm.ts';

test('one timer serves all, rings for the earliest, and asks when to ring next', async () => {
  const clock = createFakeClock(0);
  const rung: number[] = [];
  const next = [5_000, Number.POSITIVE_INFINITY];
  const alarm = createAlarm(clock, async () => {
    rung.push(clock.now());
    return next.shift() ?? Number.POSITIVE_INFINITY;
  });
  alarm.before(3_000);
  alarm.before(1_000);
  alarm.before(2_000);
  expect(clock.dueTimes()).toEqual([1_000]);
  await clock.advance(1_000);
  expect(rung).toEqual([1_000]);
  await clock.advance(4_000);
  expect(rung).toEqual([1_000, 5_000]);
  expect(clock.dueTimes()).toEqual([]);
});

test('what falls due a little later rings with it', async () => {
  const clock = createFakeClock(0);
  const rung: number[] = [];
  const alarm = createAlarm(clock, async () => {
    rung.push(clock.now());
    return Number.POSITIVE_INFINITY;
  });
  alarm.before(1_010);
  await clock.advance(1_099);
  expect(rung).toEqual([]);
  await clock.advance(1);
  expect(rung).toEqual([1_100]);
});

test('after it is closed it never rings', async () => {
  const clock = createFakeClock(0);
  const rung: number[] = [];
  const alarm = createAlarm(clock, async () => rung.push(clock.now()));
  alarm.before(1_000);
  alarm.close();
  alarm.before(10);
  await clock.advance(5_000);
  expect(rung).toEqual([]);
});
