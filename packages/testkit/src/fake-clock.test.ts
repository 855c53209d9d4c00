import { expect, test } from 'vitest';
import { createFakeClock } from './fake-clock.ts';

test('time stands still until it is advanced', async () => {
  const clock = createFakeClock(1_000);
  expect(clock.now()).toBe(1_000);
  await clock.advance(250);
  expect(clock.now()).toBe(1_250);
});

test('sleepers wake by due time, equals in the order they went to sleep, each at its own time', async () => {
  const clock = createFakeClock(0);
  const woken: string[] = [];
  const sleep = async (name: string, ms: number) => {
    await clock.sleep(ms);
    woken.push(`${name}@${clock.now()}`);
  };
  const all = Promise.all([sleep('late', 30), sleep('first', 10), sleep('second', 10), sleep('never', 99)]);
  await clock.advance(30);
  expect(woken).toEqual(['first@10', 'second@10', 'late@30']);
  expect(clock.dueTimes()).toEqual([99]);
  await clock.advance(69);
  await all;
});

test('a loop that sleeps again wakes as often as fits in one advance', async () => {
  const clock = createFakeClock(0);
  const ticks: number[] = [];
  const stop = new AbortController();
  const loop = (async () => {
    for (;;) {
      await clock.sleep(100, stop.signal);
      ticks.push(clock.now());
    }
  })();
  await clock.advance(350);
  expect(ticks).toEqual([100, 200, 300]);
  stop.abort(new Error('enough'));
  await expect(loop).rejects.toThrow('enough');
});

test('an abort rejects with its reason and the sleeper is forgotten', async () => {
  const clock = createFakeClock(0);
  const controller = new AbortController();
  const sleeping = clock.sleep(10, controller.signal);
  controller.abort(new Error('cancelled'));
  await expect(sleeping).rejects.toThrow('cancelled');
  expect(clock.dueTimes()).toEqual([]);
  await expect(clock.sleep(10, controller.signal)).rejects.toThrow('cancelled');
});

test('nobody needs to advance a clock for a sleep of nothing', async () => {
  await expect(createFakeClock(0).sleep(0)).resolves.toBeUndefined();
});

test('time does not run backwards', async () => {
  await expect(createFakeClock(0).advance(-1)).rejects.toThrow('Time only moves forward');
});
