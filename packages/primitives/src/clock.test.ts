import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from './clock.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000 });
});

afterEach(() => {
  vi.useRealTimers();
});

test('now is the time of the host in milliseconds', () => {
  expect(systemClock.now()).toBe(1_000);
});

test('sleep resolves when the time has passed and not before', async () => {
  let awake = false;
  const sleeping = systemClock.sleep(50).then(() => {
    awake = true;
  });
  await vi.advanceTimersByTimeAsync(49);
  expect(awake).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await sleeping;
  expect(awake).toBe(true);
});

test('an abort ends the sleep with the reason of the signal and leaves no timer behind', async () => {
  const controller = new AbortController();
  const sleeping = systemClock.sleep(50, controller.signal);
  const reason = new Error('the run was cancelled');
  controller.abort(reason);
  await expect(sleeping).rejects.toBe(reason);
  expect(vi.getTimerCount()).toBe(0);
});

test('a signal that is already aborted ends the sleep before it starts', async () => {
  const reason = new Error('too late');
  await expect(systemClock.sleep(50, AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(vi.getTimerCount()).toBe(0);
});

test('a sleep that ended by itself lets go of the signal', async () => {
  const controller = new AbortController();
  const removed = vi.spyOn(controller.signal, 'removeEventListener');
  const sleeping = systemClock.sleep(5, controller.signal);
  await vi.advanceTimersByTimeAsync(5);
  await sleeping;
  expect(removed).toHaveBeenCalledOnce();
});
