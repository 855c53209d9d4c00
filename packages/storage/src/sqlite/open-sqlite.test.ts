import { join } from 'node:path';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import type { SubscriptionEvent } from '../database.ts';
import { statement } from '../unit.ts';
import { openSqlite } from './open-sqlite.ts';

interface NotesSchema {
  readonly notes: { readonly text: string };
}

/** A store, and how many threads were made since it is being opened. */
async function openNotes() {
  const home = await createTemporaryHome();
  let threads = 0;
  const count = () => (threads += 1);
  process.on('worker', count);
  const database = await openSqlite<NotesSchema>({
    path: join(home.path, 'notes.db'),
    migrations: [
      { id: 'notes/0001-first', statements: (types) => [`create table notes (text ${types.text} not null)`] },
    ],
    programs: [],
    lockTimeoutMs: 1_000,
    logger: { error: () => undefined },
  });
  return {
    database,
    threads: () => threads,
    note: (text: string) =>
      database.commit({
        steps: [statement(database.write.insertInto('notes').values({ text }))],
        notifications: [{ channel: 'notes', payload: text }],
      }),
    notes: () => database.read.selectFrom('notes').select('text').execute(),
    async [Symbol.asyncDispose]() {
      process.off('worker', count);
      await database.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

test('who only writes has no thread that reads; the first read starts it, and sees what was acknowledged', async () => {
  await using store = await openNotes();
  await store.note('one');
  expect(store.threads()).toBe(1);
  const [first, second] = await Promise.all([store.notes(), store.notes()]);
  expect({ first, second, threads: store.threads() }).toEqual({
    first: [{ text: 'one' }],
    second: [{ text: 'one' }],
    threads: 2,
  });
});

test('a first subscription starts the thread that reads, and hears everything after it once', async () => {
  await using store = await openNotes();
  const heard: SubscriptionEvent[] = [];
  await store.note('before');
  await store.database.subscribe('notes', (event) => void heard.push(event));
  expect(store.threads()).toBe(2);
  await store.note('after');
  expect(heard).toEqual([{ kind: 'notified', channel: 'notes', payload: 'after' }]);
});

test('closed while the thread that reads is starting, what was asked before is answered and what is asked after is not', async () => {
  await using store = await openNotes();
  await store.note('one');
  const asked = store.notes();
  // A query reaches its thread a turn after it was made.
  await new Promise((resolve) => process.once('worker', resolve));
  const closing = store.database.close();
  await expect(store.notes()).rejects.toMatchObject({ code: 'storage.closed' });
  await closing;
  expect(await asked).toEqual([{ text: 'one' }]);
});

test('closed without ever having read, a later read starts nothing', async () => {
  await using store = await openNotes();
  await store.database.close();
  await expect(store.notes()).rejects.toMatchObject({ code: 'storage.closed' });
  await expect(store.database.subscribe('notes', () => undefined)).rejects.toMatchObject({ code: 'storage.closed' });
  expect(store.threads()).toBe(1);
});
