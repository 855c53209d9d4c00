import { mkdirSync, readdirSync, readFileSync, readlinkSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turnOfTheEventLoop } from 'node:timers/promises';
import { systemClock } from '@palyra/primitives';
import type { RunOptions, Sandbox } from '@palyra/sandbox';
import { createFakeClock } from '@palyra/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FileTools } from '../../packages/gateway/src/file-tools/create-file-tools.ts';
import { createFrameReader } from '../../packages/gateway/src/file-tools/worker/frames.ts';
import { createWorkerPool } from '../../packages/gateway/src/file-tools/worker-pool.ts';
import { sandboxProfile } from '../sandbox-profile.ts';
import { type FileToolsPlace, makeFileToolsPlace } from './file-tools-place.ts';

let place: FileToolsPlace;
beforeAll(async () => {
  place = await makeFileToolsPlace();
});
afterAll(async () => {
  await place.close();
});

const POOL = { workers: 2, waiting: 8, idleMs: 60_000, requestsPerWorker: 100 };

async function withPool(
  limits: Partial<typeof POOL>,
  body: (pool: ReturnType<typeof createWorkerPool>) => Promise<void>,
) {
  const pool = createWorkerPool({ sandbox: place.sandbox, limits: { ...POOL, ...limits }, clock: systemClock });
  try {
    await body(pool);
  } finally {
    await pool.close();
  }
}

async function withTools(options: Parameters<FileToolsPlace['make']>[0], body: (tools: FileTools) => Promise<void>) {
  const tools = place.make(options);
  try {
    await body(tools);
  } finally {
    await tools.close();
  }
}

const borrow = async (pool: ReturnType<typeof createWorkerPool>, root = place.workspace) => {
  const borrowed = await pool.borrow(sandboxProfile(root, { workspace: { root, access: 'read-only' } }));
  if (borrowed.kind !== 'worker') throw new Error(borrowed.kind);
  return borrowed;
};

describe('workers', () => {
  test('are used again for the same workspace, and make room for another', async () => {
    const other = join(place.base, 'other');
    mkdirSync(other);
    await withPool({ workers: 1 }, async (pool) => {
      const first = await borrow(pool);
      await first.giveBack();
      const second = await borrow(pool);
      await second.giveBack();
      expect(second.worker).toBe(first.worker);
      const third = await borrow(pool, other);
      expect([third.worker === first.worker, first.worker.isAlive(), pool.size()]).toEqual([false, false, 1]);
      await third.giveBack();
    });
  });

  test('are not used again where another directory took the place of the workspace', async () => {
    const root = join(place.base, 'replaced');
    mkdirSync(root);
    await withPool({}, async (pool) => {
      const first = await borrow(pool, root);
      await first.giveBack();
      renameSync(root, `${root}-old`);
      mkdirSync(root);
      const second = await borrow(pool, root);
      expect(second.worker).not.toBe(first.worker);
      await second.giveBack();
    });
  });

  test('are waited for, up to a number', async () => {
    await withPool({ workers: 1, waiting: 1 }, async (pool) => {
      const first = await borrow(pool);
      const waiting = borrow(pool);
      expect(await pool.borrow(sandboxProfile(place.workspace))).toEqual({ kind: 'busy' });
      await first.giveBack();
      const second = await waiting;
      expect(second.worker).toBe(first.worker);
      await second.giveBack();
    });
  });

  test('are replaced when they served enough, and end when nobody asks', async () => {
    const clock = createFakeClock();
    const pool = createWorkerPool({ sandbox: place.sandbox, limits: { ...POOL, requestsPerWorker: 2 }, clock });
    const first = await borrow(pool);
    await first.giveBack();
    await (await borrow(pool)).giveBack();
    const second = await borrow(pool);
    expect([second.worker === first.worker, pool.size()]).toEqual([false, 1]);
    await second.giveBack();
    await clock.advance(POOL.idleMs);
    expect([second.worker.isAlive(), pool.size()]).toEqual([false, 0]);
    await pool.close();
    expect(await pool.borrow(sandboxProfile(place.workspace))).toEqual({ kind: 'closed' });
  });

  test('that were killed are replaced', async () => {
    place.put('kill/a', 'x');
    await withTools({}, async (tools) => {
      const read = () => tools.run('palyra.fs.read', { path: 'kill/a' }, place.context);
      const before = new Set(workerPids());
      expect((await read()).kind).toBe('completed');
      const mine = workerPids().filter((pid) => !before.has(pid));
      expect(mine).toHaveLength(1);
      for (const pid of mine) process.kill(pid, 'SIGKILL');
      const results = [await read(), await read()];
      // Whether the first one still found the dead worker is a matter of who was faster.
      expect(results[0]?.kind === 'completed' || (results[0]?.kind === 'failed' && results[0].code)).toBeOneOf([
        true,
        'file.worker_failed',
      ]);
      expect(results[1]?.kind).toBe('completed');
    });
  });

  test('exist in Tier C only', async () => {
    await withTools({ profile: { tier: 'B', egress: { mode: 'none', hosts: [] } } }, async (tools) => {
      expect(await tools.run('palyra.fs.list', {}, place.context)).toMatchObject({
        code: 'file.unavailable',
        message: 'File tools work in Tier C only.',
      });
    });
  });

  test('tell in what they worked', async () => {
    expect(await place.run('list', {})).toMatchObject({
      execution: {
        executor: 'sandbox_tier_c_linux_bubblewrap',
        enforcement: { fileSystem: 'isolated', network: 'isolated' },
        facts: { network: 'isolated' },
      },
    });
  });
});

describe('a worker that says what none of ours says', () => {
  const saying = (bytes: Uint8Array): Sandbox => ({
    ...place.sandbox,
    run(command, profile, options: RunOptions = {}) {
      let heard = 0;
      const onOutput: RunOptions['onOutput'] = (stream, piece) => {
        heard += 1;
        // After its first word, which is honest.
        return options.onOutput?.(stream, heard === 1 ? piece : bytes);
      };
      return place.sandbox.run(command, profile, { ...options, onOutput });
    },
  });
  const json = (text: string) => Buffer.concat([Buffer.from([0, 0, 0, text.length, 1]), Buffer.from(text)]);

  test.each([
    ['no frame', Buffer.from([255, 255, 255, 255, 1])],
    ['no kind of frame', Buffer.from([0, 0, 0, 0, 7])],
    ['no JSON', json('{"kind":')],
    ['a key twice', json('{"kind":"done","kind":"failed"}')],
    ['an unknown reply', json('{"kind":"weird"}')],
    ['an unknown code', json('{"kind":"failed","code":"constructor"}')],
  ])('%s: is ended', async (_, bytes) => {
    await withTools({ sandbox: saying(bytes) }, async (tools) => {
      expect(await tools.run('palyra.fs.list', {}, place.context)).toMatchObject({
        code: 'file.worker_failed',
        effect: 'none',
      });
    });
  });
});

describe('a request that is given up', () => {
  const never = new Promise<void>(() => {});

  test('has changed nothing when it was cancelled before the word to overwrite', async () => {
    place.put('cancel/a', 'old');
    await withTools({}, async (tools) => {
      const abort = new AbortController();
      const keep = async () => {
        abort.abort();
        await never;
      };
      const context = { ...place.context, signal: abort.signal, blobs: { ...place.context.blobs, keep } };
      const result = await tools.run('palyra.fs.write', { path: 'cancel/a', content: 'new' }, context);
      expect(result).toMatchObject({ code: 'file.cancelled', effect: 'none' });
      expect(place.text('cancel/a')).toBe('old');
    });
  });

  test('has changed nothing when its time was over before', async () => {
    place.put('late/a', 'old');
    const clock = createFakeClock();
    await withTools({ clock }, async (tools) => {
      const asked = Promise.withResolvers<void>();
      const keep = async () => {
        asked.resolve();
        await never;
      };
      const context = { ...place.context, blobs: { ...place.context.blobs, keep } };
      const result = tools.run('palyra.fs.write', { path: 'late/a', content: 'new' }, context);
      await asked.promise;
      await clock.advance(30_000);
      expect(await result).toMatchObject({ code: 'file.timed_out', effect: 'none' });
      expect(place.text('late/a')).toBe('old');
    });
  });
});

describe('a worker that dies while it changes files', () => {
  const PATCH = ['one', 'two']
    .map((name) => `--- a/lost/${name}\n+++ b/lost/${name}\n@@ -1 +1 @@\n-old\n+new\n`)
    .join('');
  const lost = (name: string) => join(place.workspace, 'lost', name);

  /** The worker hears the word to go ahead, or is ended instead of hearing it; what it then says is not heard. */
  const interrupted = (atCommit: (deliver: () => void) => Promise<void>): Sandbox => {
    let isArmed = true;
    return {
      ...place.sandbox,
      run(command, profile, options: RunOptions = {}) {
        const kill = new AbortController();
        options.signal?.addEventListener('abort', () => kill.abort());
        let isDeaf = false;
        async function* input(): AsyncGenerator<Uint8Array> {
          for await (const piece of options.input ?? []) {
            const isCommit = createFrameReader()
              .push(piece)
              .some((frame) => frame.kind === 'json' && frame.payload.includes('"commit"'));
            if (!isCommit || !isArmed) {
              yield piece;
              continue;
            }
            isArmed = false;
            isDeaf = true;
            let isDelivered = false;
            const done = atCommit(() => (isDelivered = true));
            if (isDelivered) yield piece;
            await done;
            kill.abort();
          }
        }
        const onOutput: RunOptions['onOutput'] = (stream, bytes) =>
          isDeaf ? undefined : options.onOutput?.(stream, bytes);
        return place.sandbox.run(command, profile, { ...options, input: input(), onOutput, signal: kill.signal });
      },
    };
  };
  const patchThrough = async (sandbox: Sandbox) => {
    place.put('lost/one', 'old\n');
    place.put('lost/two', 'old\n');
    let result: unknown;
    await withTools({ sandbox }, async (tools) => {
      result = await tools.run('palyra.fs.apply_patch', { patch: PATCH }, place.context);
    });
    return {
      result,
      files: ['one', 'two'].map((name) => readFileSync(lost(name), 'utf8')),
      names: readdirSync(lost('.')),
    };
  };

  test('before the first change: nothing happened', async () => {
    expect(await patchThrough(interrupted(async () => {}))).toMatchObject({
      result: { kind: 'failed', code: 'file.worker_failed', effect: 'none' },
      files: ['old\n', 'old\n'],
      names: ['one', 'two'],
    });
  });

  test('behind the last change: it is done', async () => {
    const sandbox = interrupted(async (deliver) => {
      deliver();
      while (readFileSync(lost('two'), 'utf8') !== 'new\n') await turnOfTheEventLoop();
    });
    expect(await patchThrough(sandbox)).toMatchObject({
      result: {
        kind: 'completed',
        output: { files: [{ path: 'lost/one' }, { path: 'lost/two' }] },
        changes: { files: { length: 2 } },
      },
      files: ['new\n', 'new\n'],
      names: ['one', 'two'],
    });
  });

  test('between two changes: they are put back', async () => {
    const sandbox = interrupted(async () => writeFileSync(lost('one'), 'new\n'));
    expect(await patchThrough(sandbox)).toMatchObject({
      result: { kind: 'failed', code: 'file.worker_failed', effect: 'rolled_back' },
      files: ['old\n', 'old\n'],
      names: ['one', 'two'],
    });
  });

  test('and nobody can look: it is not known', async () => {
    let isDead = false;
    const sandbox = interrupted(async () => {
      isDead = true;
    });
    const broken: Sandbox = {
      ...sandbox,
      plan: async (command, profile) =>
        isDead
          ? { kind: 'refused', code: 'sandbox.unsupported', message: 'Gone.', fix: undefined }
          : sandbox.plan(command, profile),
    };
    expect(await patchThrough(broken)).toMatchObject({ result: { kind: 'failed', effect: 'unknown' } });
  });

  test('and somebody else changed a file: it is not known, and left alone', async () => {
    const sandbox = interrupted(async () => writeFileSync(lost('one'), 'theirs\n'));
    expect(await patchThrough(sandbox)).toMatchObject({
      result: { kind: 'failed', effect: 'unknown', changes: { files: { length: 2 } } },
      files: ['theirs\n', 'old\n'],
    });
  });
});

/** Of this workspace, as the host sees them. */
function workerPids(): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const isWorker = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('worker/worker-program');
        return isWorker && readlinkSync(`/proc/${pid}/cwd`) === place.workspace;
      } catch {
        return false;
      }
    });
}
