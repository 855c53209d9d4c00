import { expect, test } from 'vitest';
import { createOutbox } from './outbox.ts';

test('what is pushed is taken in order, also by who waits for it', async () => {
  const outbox = createOutbox<number>();
  const taken = outbox.items[Symbol.asyncIterator]();
  outbox.push(1);
  outbox.push(2);
  expect([await taken.next(), await taken.next()]).toEqual([
    { done: false, value: 1 },
    { done: false, value: 2 },
  ]);
  const third = taken.next();
  outbox.push(3);
  expect(await third).toEqual({ done: false, value: 3 });
});

test('closing ends it, also for who waits', async () => {
  const outbox = createOutbox<number>();
  const waiting = outbox.items[Symbol.asyncIterator]().next();
  outbox.close();
  expect(await waiting).toEqual({ done: true, value: undefined });
  outbox.push(1);
  expect(await outbox.items[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
});

test('a reader that stops while it waits is not left waiting', async () => {
  const taken = createOutbox<number>().items[Symbol.asyncIterator]();
  const waiting = taken.next();
  await taken.throw?.(new Error('the connection is gone'));
  expect(await waiting).toEqual({ done: true, value: undefined });
});
