import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test, vi } from 'vitest';
import { renderMigrations } from '../migration.ts';
import { openBell } from './bell.ts';
import { openForReading, openForWriting } from './connection.ts';
import { migrate, NOTIFICATIONS_MIGRATION, SQLITE_TYPES } from './migrate.ts';
import type { FromThread } from './thread-messages.ts';
import { watchNotifications } from './watch-notifications.ts';

/** The machine may be busy. */
const PATIENT = { timeout: 15_000 };

const INSERT = 'insert into palyra_notifications (channel, payload, origin) values (?, ?, ?)';

async function watching({ pollMs }: { pollMs: number }) {
  const home = await createTemporaryHome();
  const options = { path: join(home.path, 'x.db'), lockTimeoutMs: 1_000 };
  const writer = openForWriting(options);
  migrate(writer, renderMigrations([NOTIFICATIONS_MIGRATION], SQLITE_TYPES));
  writer.query(INSERT, ['runs', 'old', 'other']);
  const connection = openForReading(options);
  const sent: FromThread<never>[] = [];
  const stop = watchNotifications({
    ...options,
    pollMs,
    origin: 'me',
    connection,
    send: (message) => sent.push(message),
  });
  return {
    path: options.path,
    writer,
    sent,
    async end() {
      stop();
      connection.close();
      writer.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

const NEVER_MS = 2 ** 30;

test('every ring is answered with what was committed before it, without the poll', async () => {
  const { path, writer, sent, end } = await watching({ pollMs: NEVER_MS });
  const bell = openBell(path);
  const payloads = Array.from({ length: 40 }, (_, i) => `${i}`);
  for (const [i, payload] of payloads.entries()) {
    writer.query(INSERT, ['runs', payload, 'other']);
    bell.ring();
    await vi.waitFor(() => expect(sent).toHaveLength(i + 1), { timeout: 5_000, interval: 1 });
  }
  bell.close();
  const told = sent.flatMap((message) => (message.kind === 'notified' ? message.notifications : []));
  expect(told.map(({ payload }) => payload)).toEqual(payloads);
  await end();
});

test('a bell that was removed is hung up again by whoever rings or listens', async () => {
  const { path, writer, sent, end } = await watching({ pollMs: NEVER_MS });
  const bell = openBell(path);
  await rm(`${path}-bell`);
  await vi.waitFor(() => {
    writer.query(INSERT, ['runs', 'theirs', 'other']);
    bell.ring();
    expect(sent[0]?.kind).toBe('notified');
  }, PATIENT);
  bell.close();
  await end();
});

test('tells what others committed from now on, and not what we did', async () => {
  const { writer, sent, end } = await watching({ pollMs: 20 });
  writer.query(INSERT, ['runs', 'mine', 'me']);
  writer.query(INSERT, ['runs', 'theirs', 'other']);
  await vi.waitFor(
    () => expect(sent).toEqual([{ kind: 'notified', notifications: [{ channel: 'runs', payload: 'theirs' }] }]),
    PATIENT,
  );
  await end();
});

test('tells a gap when rows were pruned before they were seen', async () => {
  const { writer, sent, end } = await watching({ pollMs: 20 });
  writer.database.exec('begin');
  for (let i = 0; i < 5; i += 1) writer.query(INSERT, ['runs', `${i}`, 'other']);
  writer.query('delete from palyra_notifications where seq <= 4', []);
  writer.database.exec('commit');
  await vi.waitFor(() => expect(sent.at(-1)?.kind).toBe('notified'), PATIENT);
  expect(sent[0]).toEqual({ kind: 'gap' });
  await end();
});
