import { describe, expect, test } from 'vitest';
import { startThread, startThreadWhenAsked, type ThreadOptions } from './thread-client.ts';

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

describe('a thread that starts when it is asked', () => {
  /** Counts its starts, and answers with what it was asked. */
  const ECHO = threadOf(`
    Atomics.add(workerData.starts, 0, 1);
    parentPort.on('message', ({ kind, requests }) => {
      if (kind === 'close') return parentPort.close();
      parentPort.postMessage({ kind: 'answers', answers: requests.map(({ id, body }) => ({ id, ok: true, result: body })) });
    });
    parentPort.postMessage({ kind: 'ready' });`);

  function whenAsked({ entry = ECHO, ...other }: Partial<ThreadOptions> = {}) {
    const starts = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const options: ThreadOptions = { entry, data: { starts }, maxWaiting: 3, lost: 'storage.unavailable', events };
    return { client: startThreadWhenAsked<string, string>({ ...options, ...other }), starts: () => starts[0] };
  }

  test('never asked, it never starts, and is closed all the same', async () => {
    const { client, starts } = whenAsked();
    const made = await workersMadeDuring(async () => {
      await client.close();
      await client.close();
      await expect(client.request('a')).rejects.toMatchObject({ code: 'storage.closed' });
    });
    expect({ made, starts: starts() }).toEqual({ made: 0, starts: 0 });
  });

  test('starts once for all that ask before it is ready, and answers each', async () => {
    const { client, starts } = whenAsked();
    expect(await Promise.all(['a', 'b', 'c'].map((body) => client.request(body)))).toEqual(['a', 'b', 'c']);
    expect(await client.request('d')).toBe('d');
    expect(starts()).toBe(1);
    await client.close();
    await expect(client.request('e')).rejects.toMatchObject({ code: 'storage.closed' });
  });

  test('closed while it starts, it answers what was asked before and nothing after', async () => {
    const { client, starts } = whenAsked();
    const asked = client.request('a');
    const closing = client.close();
    await expect(client.request('b')).rejects.toMatchObject({ code: 'storage.closed' });
    await closing;
    expect({ answer: await asked, starts: starts() }).toEqual({ answer: 'a', starts: 1 });
  });

  test('while it starts no more than so many wait', async () => {
    const { client } = whenAsked();
    const waiting = ['a', 'b', 'c'].map((body) => client.request(body));
    await expect(client.request('d')).rejects.toMatchObject({ code: 'storage.overloaded' });
    expect(await Promise.all(waiting)).toEqual(['a', 'b', 'c']);
    await client.close();
  });

  test.for<[string, URL]>([
    ['cannot be loaded', new URL('./no-such-thread.ts', import.meta.url)],
    ['throws as it starts', threadOf(`throw new Error('no');`)],
    ['ends before it is ready', threadOf('process.exit(0);')],
    ['is nothing that Node would start', new URL('https://localhost/thread.js')],
  ])('one that %s fails the first request and those after it, and is closed', async ([, entry]) => {
    const { client } = whenAsked({ entry });
    await expect(Promise.all([client.request('a'), client.request('b')])).rejects.toMatchObject({
      code: 'storage.unavailable',
    });
    await expect(client.request('c')).rejects.toMatchObject({ code: 'storage.unavailable' });
    await client.close();
  });

  test('one that fails while it is closed fails what was asked, and is closed', async () => {
    const { client } = whenAsked({ entry: threadOf(`throw new Error('no');`) });
    const [asked, closed] = await Promise.allSettled([client.request('a'), client.close()]);
    expect(asked).toMatchObject({ status: 'rejected', reason: { code: 'storage.unavailable' } });
    expect(closed.status).toBe('fulfilled');
  });

  test('one that dies is not started again: its subscribers are told of the gap', async () => {
    let gaps = 0;
    const entry = threadOf(`
      Atomics.add(workerData.starts, 0, 1);
      parentPort.on('message', () => { throw new Error('gone'); });
      parentPort.postMessage({ kind: 'ready' });`);
    const { client, starts } = whenAsked({ entry, events: { ...events, gap: () => (gaps += 1) } });
    await expect(client.request('a')).rejects.toMatchObject({ code: 'storage.unavailable' });
    await client.close();
    await expect(client.request('b')).rejects.toMatchObject({ code: 'storage.unavailable' });
    expect({ gaps, starts: starts() }).toEqual({ gaps: 1, starts: 1 });
  });
});

function threadOf(body: string): URL {
  const start = `import { parentPort, workerData } from 'node:worker_threads';\n`;
  return new URL(`data:text/javascript,${encodeURIComponent(start + body)}`);
}

async function workersMadeDuring(work: () => Promise<void>): Promise<number> {
  let made = 0;
  const count = () => (made += 1);
  process.on('worker', count);
  await work();
  process.off('worker', count);
  return made;
}
