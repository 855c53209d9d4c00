import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { openForWriting } from './connection.ts';
import { canEmptyBeside, createLogEmptier, EMPTIER, emptierThread } from './empty-log.ts';

const PAGES = 4000;

interface Asked {
  state: Int32Array<SharedArrayBuffer>;
  died(): void;
}

/** A real database, and a helper that does nothing until it is told to have done it. */
async function place() {
  const home = await createTemporaryHome();
  const connection = openForWriting({ path: join(home.path, 'x.db'), lockTimeoutMs: 100 });
  connection.database.exec('create table pages (bytes blob)');
  const asked: Asked[] = [];
  let stopped = 0;
  const emptier = createLogEmptier({
    connection,
    startHelper: (state, died) => ({ ask: () => asked.push({ state, died }), stop: () => (stopped += 1) }),
  });
  onTestFinished(async () => {
    connection.close();
    await home[Symbol.asyncDispose]();
  });
  const write = (pages: number) => {
    connection.query('insert into pages values (zeroblob(?))', [pages * 4096]);
    // Every sixteenth time it looks whether the log is full.
    for (let look = 0; look < 16; look += 1) emptier.look();
  };
  const log = () => {
    const [row] = connection.query('pragma wal_checkpoint(noop)', []).rows;
    return { pages: Number(row?.['log']), left: Number(row?.['log']) - Number(row?.['checkpointed']) };
  };
  return { connection, emptier, asked, write, log, stopped: () => stopped };
}

test('a log that is not full is left alone', async () => {
  const { asked, write } = await place();
  write(PAGES - 100);
  expect(asked).toEqual([]);
});

test('a full one is emptied by the helper, once; what came meanwhile is brought over, and it begins anew', async () => {
  const { connection, asked, write, log } = await place();
  write(PAGES);
  write(10);
  expect(asked).toHaveLength(1);
  const other = openForWriting({ path: connection.database.location() ?? '', lockTimeoutMs: 100 });
  other.query('pragma wal_checkpoint(passive)', []);
  other.close();
  connection.query('insert into pages values (zeroblob(?))', [5 * 4096]);
  expect(log().left).toBeGreaterThan(0);
  Atomics.store(asked[0]?.state as Int32Array, 0, EMPTIER.done);
  write(1);
  expect(log().left).toBe(0);
  write(1);
  expect(log().pages).toBeLessThan(10);
  expect(asked).toHaveLength(1);
});

test.each(['failed', 'died'] as const)('a helper that %s leaves the work to the writer', async (how) => {
  const { asked, write, log } = await place();
  write(PAGES);
  if (how === 'died') asked[0]?.died();
  else Atomics.store(asked[0]?.state as Int32Array, 0, EMPTIER.failed);
  write(1);
  expect(log().left).toBe(0);
});

test('closing waits for what is under way', async () => {
  const { emptier, asked, write, stopped } = await place();
  write(PAGES);
  const state = asked[0]?.state as Int32Array;
  Atomics.store(state, 0, EMPTIER.begun);
  const helper = new Worker(
    `const { workerData: state } = require('node:worker_threads');
     setTimeout(() => { Atomics.store(state, 0, ${EMPTIER.done}); Atomics.notify(state, 0); }, 50);`,
    { eval: true, workerData: state },
  );
  emptier.close();
  expect([Atomics.load(state, 0), stopped()]).toEqual([EMPTIER.done, 1]);
  await helper.terminate();
});

test('and not for what never begins', async () => {
  const { emptier, asked, write, stopped } = await place();
  write(PAGES);
  const closingAt = performance.now();
  emptier.close();
  expect(performance.now() - closingAt).toBeLessThan(1_000);
  expect([Atomics.load(asked[0]?.state as Int32Array, 0), stopped()]).toEqual([EMPTIER.idle, 1]);
});

/** Resolves with what the thread says of its pass. */
async function passOf(path: string, meanwhile: () => void): Promise<number> {
  const emptier = new URL('./emptier-thread.ts', import.meta.url).href;
  const state = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const helper = emptierThread({ emptier, path, lockTimeoutMs: 100 })(state, resolve);
  meanwhile();
  Atomics.store(state, 0, EMPTIER.asked);
  helper.ask();
  for (const open of [EMPTIER.asked, EMPTIER.begun]) await Atomics.waitAsync(state, 0, open).value;
  helper.stop();
  await ended;
  return Atomics.load(state, 0);
}

test('the thread brings over what is in the log', async () => {
  const { connection, log } = await place();
  expect(log().left).toBeGreaterThan(0);
  expect(await passOf(connection.database.location() ?? '', () => undefined)).toBe(EMPTIER.done);
  expect(log().left).toBe(0);
});

test('SECURITY: T-32 — and leaves another database alone that took the name of the one that the writer has', async () => {
  const { connection } = await place();
  const path = connection.database.location() ?? '';
  const moved = join(path, '..', 'moved');
  mkdirSync(moved);
  new DatabaseSync(join(moved, 'other')).exec('create table others (id)');
  const other = readFileSync(join(moved, 'other'));
  const state = await passOf(path, () => {
    for (const end of ['', '-wal', '-shm']) renameSync(`${path}${end}`, join(moved, `x.db${end}`));
    writeFileSync(path, other, { mode: 0o600 });
  });
  expect(state).toBe(EMPTIER.failed);
  expect(readFileSync(path).equals(other)).toBe(true);
});

test.each([
  ['3.50.4', false],
  ['3.51.2', false],
  ['3.51.3', true],
  ['3.53.4', true],
  ['4.0.0', true],
  [undefined, false],
])('SECURITY: T-32 — SQLite %s is let do it beside commits: %s', (version, expected) => {
  expect(canEmptyBeside(version)).toBe(expected);
});
