import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { ClientError } from '../client-error.ts';
import { createReconnect, type ReconnectOptions } from './reconnect.ts';

const LOST = new ClientError('client.unreachable', 'Gone.');
const FOREVER = new AbortController().signal;

/** One that waits at most, and a clock that goes on when it waits. Its pauses in milliseconds, or what it throws. */
function createPatience(options: ReconnectOptions) {
  const clock = createFakeClock(0);
  const reconnect = createReconnect({ options, clock, random: () => 1 });
  const pause = async (why: ClientError = LOST): Promise<unknown> => {
    const before = clock.now();
    const paused = reconnect.pause(why, FOREVER).then(
      () => clock.now() - before,
      (thrown: unknown) => thrown,
    );
    await clock.advance((clock.dueTimes()[0] ?? before) - before);
    return paused;
  };
  return { clock, reconnect, pause };
}

test('pauses grow up to the longest, and begin anew when something was heard', async () => {
  const { reconnect, pause } = createPatience({ firstPauseMs: 50, longestPauseMs: 300 });
  const pauses = [await pause(), await pause(), await pause(), await pause(), await pause()];
  expect(pauses).toEqual([50, 100, 200, 300, 300]);
  reconnect.heard();
  expect(await pause()).toBe(50);
});

test('it gives up after as long as it was told', async () => {
  const { pause, clock } = createPatience({ firstPauseMs: 50, giveUpAfterMs: 1_000 });
  const pauses: unknown[] = [];
  for (let paused = await pause(); paused !== LOST; paused = await pause()) pauses.push(paused);
  expect(pauses).toEqual([50, 100, 200, 400, 800]);
  expect(clock.now()).toBe(1_550);
});

test('a stream that was open for a while was a good one, though nothing happened on it', async () => {
  const { reconnect, pause, clock } = createPatience({ firstPauseMs: 50, giveUpAfterMs: 10_000 });
  await pause();
  await pause();
  reconnect.opened();
  await clock.advance(60_000);
  expect(await pause()).toBe(50);
});

test('to hang while connecting is no good stream', async () => {
  const { pause, clock } = createPatience({ firstPauseMs: 50, giveUpAfterMs: 10_000 });
  await pause();
  await clock.advance(60_000);
  expect(await pause()).toBe(LOST);
});

test('what no other connection would change is not tried again', async () => {
  const { pause } = createPatience({});
  const refused = new ClientError('daemon.not_permitted', 'No.');
  expect(await pause(refused)).toBe(refused);
  expect(await pause(new ClientError('daemon.stopping', 'It ends.'))).toBe(50);
});

test('whoever stops waiting gets the error that they waited for', async () => {
  const stop = new AbortController();
  const reconnect = createReconnect({ clock: createFakeClock(0) });
  const paused = reconnect.pause(LOST, stop.signal);
  stop.abort();
  await expect(paused).rejects.toBe(LOST);
  await expect(reconnect.pause(LOST, stop.signal)).rejects.toBe(LOST);
});
