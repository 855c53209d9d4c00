import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { createSlowReaders } from './slow-readers.ts';

const KIB = 1024;

function createPlace() {
  const clock = createFakeClock();
  let written = 0;
  const readers = createSlowReaders({ behind: (cursor) => written - cursor, clock, patienceMs: 1_000 });
  const signal = new AbortController();
  const wait = () => {
    let isDone = false;
    const done = readers.caughtUp(signal.signal).then(() => {
      isDone = true;
    });
    return { done, isDone: () => isDone };
  };
  return {
    clock,
    readers,
    signal,
    wait,
    write(bytes: number) {
      written += bytes;
    },
  };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test('nobody waits for nobody, nor for one that is not far behind', async () => {
  const { readers, write, signal } = createPlace();
  write(KIB * KIB);
  await expect(readers.caughtUp(signal.signal)).resolves.toBeUndefined();
  readers.join(KIB * KIB - 1);
  await expect(readers.caughtUp(signal.signal)).resolves.toBeUndefined();
});

test('the writer waits until the slowest has read on, or has left', async () => {
  const { readers, write, wait } = createPlace();
  const [slow, gone] = [readers.join(0), readers.join(0)];
  write(KIB * KIB);
  const waiting = wait();
  slow.took(KIB * KIB);
  await settle();
  expect(waiting.isDone()).toBe(false);
  gone.leave();
  await waiting.done;
});

test('one that stands still is waited for once, and again when it has caught up', async () => {
  const { clock, readers, write, wait } = createPlace();
  const slow = readers.join(0);
  write(KIB * KIB);
  const first = wait();
  await settle();
  await clock.advance(999);
  expect(first.isDone()).toBe(false);
  await clock.advance(1);
  await first.done;
  write(KIB * KIB);
  await wait().done;
  slow.took(2 * KIB * KIB);
  write(KIB * KIB);
  const again = wait();
  await settle();
  expect(again.isDone()).toBe(false);
  slow.leave();
  await again.done;
});

test('one that reads, however slowly, is waited for', async () => {
  const { clock, readers, write, wait } = createPlace();
  const slow = readers.join(0);
  write(KIB * KIB);
  const waiting = wait();
  for (let read = 1; read < 6; read += 1) {
    await settle();
    await clock.advance(900);
    slow.took(read * KIB);
  }
  await settle();
  expect(waiting.isDone()).toBe(false);
  slow.leave();
  await waiting.done;
});

test('a call that is cancelled waits for nobody', async () => {
  const { readers, write, wait, signal } = createPlace();
  readers.join(0);
  write(KIB * KIB);
  const waiting = wait();
  await settle();
  expect(waiting.isDone()).toBe(false);
  signal.abort();
  await waiting.done;
});
