import { setImmediate as afterOthers } from 'node:timers/promises';
import type { Running } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import { type AttachedInput, feedAttached } from './attached-input.ts';

const NEVER = new AbortController().signal;
const bytes = (text: string): AttachedInput => ({ kind: 'bytes', bytes: Buffer.from(text) });
const resize = (rows: number, columns: number): AttachedInput => ({ kind: 'resize', rows, columns });
const signal = (name: string) => ({ kind: 'signal', name }) as AttachedInput;

/** Counts what was asked of it, and whether it was let go. */
function sourceOf(items: readonly AttachedInput[], then: 'ends' | 'waits' | 'throws' = 'ends') {
  const seen = { asked: 0, isLetGo: false };
  const source: AsyncIterable<AttachedInput> = {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const item = items[seen.asked];
        seen.asked += 1;
        if (item !== undefined) return { value: item };
        if (then === 'throws') throw new Error('gone');
        return then === 'ends' ? { done: true, value: undefined } : new Promise<never>(() => undefined);
      },
      async return() {
        seen.isLetGo = true;
        return { done: true, value: undefined };
      },
    }),
  };
  return { seen, source };
}

/** As the sandbox does it: it runs, and then it reads. */
function fed(source: AsyncIterable<AttachedInput>) {
  const heard: string[] = [];
  const feed = feedAttached(source, NEVER);
  const running = {
    resize: (rows: number, columns: number) => heard.push(`${rows}x${columns}`),
    signal: (name: string) => heard.push(name),
  } as unknown as Running;
  feed.options.onStart(running);
  const reader = (feed.options.input as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const read = async () => {
    const { done, value } = await reader.next();
    return done === true ? undefined : Buffer.from(value).toString();
  };
  return { feed, heard, read };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await afterOthers();
}

test('bytes are read in order and then end; sizes and signals go their own way', async () => {
  const { source } = sourceOf([bytes('a'), resize(5, 6), bytes('bc'), signal('SIGINT'), signal('SIGINT')]);
  const { feed, heard, read } = fed(source);
  expect([await read(), await read(), await read()]).toEqual(['a', 'bc', undefined]);
  expect(heard).toEqual(['5x6', 'SIGINT', 'SIGINT']);
  expect(feed.told()).toEqual({ input_bytes: 3, signals: { SIGINT: 2 } });
});

test('after the end of the bytes signals still come, and more bytes do not', async () => {
  const { source } = sourceOf([{ kind: 'end' }, bytes('late'), signal('SIGTERM')], 'waits');
  const { feed, heard, read } = fed(source);
  expect(await read()).toBeUndefined();
  await settled();
  expect(heard).toEqual(['SIGTERM']);
  expect(feed.told()).toEqual({ input_bytes: 0, signals: { SIGTERM: 1 } });
});

test('who does not read makes the source wait', async () => {
  const { seen, source } = sourceOf(Array.from({ length: 100 }, () => bytes('x')));
  const { read } = fed(source);
  await settled();
  expect(seen.asked).toBe(1);
  await read();
  await settled();
  expect(seen.asked).toBe(2);
});

test('a source that waits is let go when the command is over, and its reader sees the end', async () => {
  const { seen, source } = sourceOf([], 'waits');
  const { feed, read } = fed(source);
  const last = read();
  await settled();
  feed.stop();
  expect(await last).toBeUndefined();
  expect(seen.isLetGo).toBe(true);
});

test('a source that throws ends the command, and what was read of it is no whole', async () => {
  const { feed, read } = fed(sourceOf([bytes('half')], 'throws').source);
  expect(await read()).toBe('half');
  await expect(read()).rejects.toThrow('gone');
  await settled();
  expect(feed.options.signal.aborted).toBe(true);
});

test('so does one that throws after the end of the bytes, or when it is begun', async () => {
  const { feed, read } = fed(sourceOf([{ kind: 'end' }], 'throws').source);
  expect(await read()).toBeUndefined();
  await settled();
  expect(feed.options.signal.aborted).toBe(true);
  const broken = {
    [Symbol.asyncIterator]: () => {
      throw new Error('no');
    },
  };
  const begun = fed(broken);
  await settled();
  expect(begun.feed.options.signal.aborted).toBe(true);
});

test('a source that throws when it is let go changes nothing', async () => {
  const { source } = sourceOf([], 'waits');
  const iterator = source[Symbol.asyncIterator]();
  const stubborn = {
    next: () => iterator.next(),
    return: () => {
      throw new Error('no');
    },
  };
  const { feed } = fed({ [Symbol.asyncIterator]: () => stubborn });
  await settled();
  feed.stop();
  await settled();
  expect(feed.options.signal.aborted).toBe(false);
});

test.each([resize(0, 80), resize(24, 10_000), resize(1.5, 80), resize(Number.NaN, 1), signal('SIGKILL'), signal('x')])(
  '%j is left out',
  async (item) => {
    const { heard, read, feed } = fed(sourceOf([item, bytes('x')]).source);
    expect(await read()).toBe('x');
    expect(heard).toEqual([]);
    expect(feed.told()).toEqual({ input_bytes: 1, signals: {} });
  },
);

test('what is never begun is never asked', async () => {
  const { seen, source } = sourceOf([bytes('x')]);
  feedAttached(source, NEVER).stop();
  await settled();
  expect(seen).toEqual({ asked: 0, isLetGo: false });
});
