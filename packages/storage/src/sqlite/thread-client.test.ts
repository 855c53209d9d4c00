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

test('of many answers some are handed out later, and none is lost when the thread ends right after them', async () => {
  const entry = new URL(
    `data:text/javascript,import { parentPort } from 'node:worker_threads';
     parentPort.on('message', ({ requests }) => {
       const answers = requests.map(({ id, body }) => ({ id, ok: true, result: body }));
       parentPort.postMessage({ kind: 'answers', answers });
       parentPort.close();
     });
     parentPort.postMessage({ kind: 'ready' });`,
  );
  const thread = await startThread<number, number>({
    entry,
    data: {},
    maxWaiting: 100,
    lost: 'storage.outcome_unknown',
    events,
  });
  const bodies = Array.from({ length: 21 }, (_, at) => at);
  const settled: number[] = [];
  const all = bodies.map((body) => thread.request(body).then((result) => settled.push(result)));
  await all[0];
  expect(settled.length).toBeLessThan(bodies.length);
  await Promise.all(all);
  expect(settled).toEqual(bodies);
});
