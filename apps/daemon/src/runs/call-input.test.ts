import type { AttachedInput } from '@palyra/gateway';
import { expect, test } from 'vitest';
import { createCallInput } from './call-input.ts';

const PIECE = 64 * 1024;
const bytes = (fill: number): AttachedInput => ({ kind: 'bytes', bytes: new Uint8Array(PIECE).fill(fill) });
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('what is sent comes in order, whether the reader or the sender is first', async () => {
  const input = createCallInput();
  const reader = input.attached[Symbol.asyncIterator]();
  const first = reader.next();
  const sent: readonly AttachedInput[] = [bytes(1), bytes(2), { kind: 'end' }];
  for (const each of sent) await input.send(each);
  expect([(await first).value, (await reader.next()).value, (await reader.next()).value]).toEqual(sent);
  input.close();
  expect((await reader.next()).done).toBe(true);
});

test('a tool that does not read makes the sender wait, and nothing is lost', async () => {
  const input = createCallInput();
  let taken = 0;
  const sending = (async () => {
    for (let at = 0; at < 20; at += 1) {
      await input.send(bytes(at));
      taken += 1;
    }
    await input.send({ kind: 'end' });
  })();
  await settle();
  expect(taken).toBe(4);
  const got: number[] = [];
  for await (const each of input.attached) {
    if (each.kind === 'end') break;
    if (each.kind === 'bytes') got.push(each.bytes[0] ?? -1);
  }
  await sending;
  expect(got).toEqual(Array.from({ length: 20 }, (_, at) => at));
});

test('when the call is over whoever still sends is let go', async () => {
  const input = createCallInput();
  const sending = Promise.all(Array.from({ length: 20 }, (_, at) => input.send(bytes(at))));
  await input.attached[Symbol.asyncIterator]().return?.();
  await sending;
  await expect(input.send(bytes(0))).resolves.toBeUndefined();
});

test('a signal does not wait behind bytes that nobody reads', async () => {
  const input = createCallInput();
  const stuck = Promise.all(Array.from({ length: 20 }, (_, at) => input.send(bytes(at))));
  await input.send({ kind: 'resize', rows: 2, columns: 3 });
  await input.send({ kind: 'signal', name: 'SIGINT' });
  const controls = input.attached.controls?.[Symbol.asyncIterator]();
  expect((await controls?.next())?.value).toEqual({ kind: 'resize', rows: 2, columns: 3 });
  expect((await controls?.next())?.value).toEqual({ kind: 'signal', name: 'SIGINT' });
  input.close();
  await stuck;
});
