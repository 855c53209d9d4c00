import { expect, test } from 'vitest';
import { type MessageHooks, relayMessages } from './relay-messages.ts';

async function* count(to: number, told: string[] = []): AsyncGenerator<number> {
  try {
    for (let each = 1; each <= to; each += 1) yield each;
  } finally {
    told.push('closed');
  }
}

async function read(hooks: MessageHooks<number>, { upTo = 9, told }: { upTo?: number; told?: string[] } = {}) {
  const seen: number[] = [];
  for await (const each of relayMessages(count(3, told), hooks)) {
    seen.push(each);
    if (seen.length === upTo) break;
  }
  return seen;
}

test('messages go by in order, each after whoever holds it up, and the end is told once', async () => {
  const told: unknown[] = [];
  const each = async (message: number) => void told.push(message);
  expect(await read({ each, ended: () => told.push('ended'), left: () => told.push('left') })).toEqual([1, 2, 3]);
  expect(told).toEqual([1, 2, 3, 'ended']);
});

test('a reader that leaves closes the source', async () => {
  const told: string[] = [];
  expect(await read({ ended: () => told.push('ended'), left: () => told.push('left') }, { upTo: 2, told })).toEqual([
    1, 2,
  ]);
  expect(told).toEqual(['closed', 'left']);
});

test.each([
  [
    'at once',
    () => {
      throw new Error('no');
    },
  ],
  [
    'late',
    async () => {
      throw new Error('no');
    },
  ],
])('what a hook refuses %s ends both sides, in the words of the other hook', async (_when, each) => {
  const told: string[] = [];
  const failed = (error: unknown) => new Error(`mapped ${(error as Error).message}`);
  await expect(read({ each, failed, ended: () => told.push('ended') }, { told })).rejects.toThrow('mapped no');
  expect(told).toEqual(['closed']);
});

test('what the source throws is mapped, and nothing follows it', async () => {
  const source = {
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('broken')) }),
  } as AsyncIterable<number>;
  const messages = relayMessages(source, { failed: () => new Error('mapped') });
  await expect(messages.next()).rejects.toThrow('mapped');
  expect(await messages.next()).toEqual({ done: true, value: undefined });
});
