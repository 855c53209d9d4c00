import { expect, test } from 'vitest';
import { startThread } from './thread-client.ts';

/** A thread that is ready and never answers. */
const SILENT = new URL(
  `data:text/javascript,import { parentPort } from 'node:worker_threads';
   parentPort.on('message', ({ kind }) => kind === 'close' && parentPort.close());
   parentPort.postMessage({ kind: 'ready' });`,
);

const events = { notified: () => undefined, gap: () => undefined };

test('when too many requests wait, the next one is refused at once', async () => {
  const thread = await startThread<string, string>({
    entry: SILENT,
    data: {},
    maxWaiting: 3,
    lost: 'storage.unavailable',
    events,
  });
  const waiting = ['a', 'b', 'c'].map((body) => thread.request(body));
  await expect(thread.request('d')).rejects.toMatchObject({
    code: 'storage.overloaded',
    fix: 'Try again in a moment.',
  });
  const ended = Promise.allSettled(waiting);
  await thread.close();
  expect(await ended).toMatchObject(
    waiting.map(() => ({ status: 'rejected', reason: { code: 'storage.unavailable' } })),
  );
});

test('a thread that dies fails what was under way, and everything after it', async () => {
  let gaps = 0;
  const entry = new URL(
    `data:text/javascript,import { parentPort } from 'node:worker_threads';
     parentPort.on('message', () => { throw new Error('gone'); });
     parentPort.postMessage({ kind: 'ready' });`,
  );
  const thread = await startThread<string, string>({
    entry,
    data: {},
    maxWaiting: 3,
    lost: 'storage.outcome_unknown',
    events: { ...events, gap: () => (gaps += 1) },
  });
  await expect(thread.request('a')).rejects.toMatchObject({ code: 'storage.outcome_unknown' });
  await thread.close();
  await expect(thread.request('b')).rejects.toMatchObject({ code: 'storage.unavailable' });
  expect(gaps).toBe(1);
});
