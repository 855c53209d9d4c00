import { join } from 'node:path';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { renderMigrations } from '../migration.ts';
import { openBell } from './bell.ts';
import { openForWriting } from './connection.ts';
import { sqliteBuilder } from './dialect.ts';
import { migrate, NOTIFICATIONS_MIGRATION, SQLITE_TYPES } from './migrate.ts';
import { createWriter, type WriterConnection } from './writer.ts';

const IOERR_WRITE = 778;

/** Real connections, except that the disk below them can be told to fail at one statement, or to stay away. */
async function failingDisk() {
  const home = await createTemporaryHome();
  const options = { path: join(home.path, 'x.db'), lockTimeoutMs: 100 };
  const first = openForWriting(options);
  migrate(first, renderMigrations([NOTIFICATIONS_MIGRATION], SQLITE_TYPES));
  first.close();
  const disk = { failAt: '', isAway: false, opened: 0 };
  const fault = () => Object.assign(new Error('disk I/O error'), { errcode: IOERR_WRITE });
  const open = (): WriterConnection => {
    if (disk.isAway) throw fault();
    disk.opened += 1;
    const connection = openForWriting(options);
    return {
      ...connection,
      query(sql, parameters) {
        if (sql === disk.failAt) throw fault();
        return connection.query(sql, parameters);
      },
      requireInPlace: () => undefined,
      log: { look: () => undefined },
      room: { look: () => undefined, forget: () => undefined },
    };
  };
  const bell = openBell(options.path);
  const writer = createWriter({ open, bell, programs: new Map(), build: sqliteBuilder(), origin: 'me' });
  const end = async () => {
    writer.close();
    await home[Symbol.asyncDispose]();
  };
  return { writer, disk, end };
}

const unit = { steps: [], notifications: [{ channel: 'runs', payload: 'x' }] };

test('after a failure of the disk the writer opens a new connection, also when that fails at first', async () => {
  const { writer, disk, end } = await failingDisk();
  disk.failAt = 'begin immediate';
  expect(writer.commit([unit])).toMatchObject({ units: [{ error: { code: 'storage.io_failed' } }] });
  disk.isAway = true;
  expect(writer.commit([unit])).toMatchObject({ units: [{ error: { code: 'storage.io_failed' } }] });
  expect(writer.commit([unit])).toMatchObject({ units: [{ error: { code: 'storage.io_failed' } }] });
  Object.assign(disk, { failAt: '', isAway: false });
  expect(writer.commit([unit])).toMatchObject({ units: [{ outcome: { kind: 'committed' } }] });
  expect(disk.opened).toBe(2);
  await end();
});

test('a disk that fails at the flush leaves the outcome unknown, and says so to every unit of the batch', async () => {
  const { writer, disk, end } = await failingDisk();
  disk.failAt = 'commit';
  const unknown = { error: { code: 'storage.outcome_unknown' } };
  expect(writer.commit([unit, unit])).toMatchObject({ units: [unknown, unknown] });
  disk.failAt = '';
  expect(writer.commit([unit])).toMatchObject({ units: [{ outcome: { kind: 'committed' } }] });
  await end();
});

test('old notifications are pruned, the newest 20,000 are kept', async () => {
  const { writer, end } = await failingDisk();
  const many = {
    steps: [],
    notifications: Array.from({ length: 25 }, (_, i) => ({ channel: 'runs', payload: `${i}` })),
  };
  for (let i = 0; i < 1000; i += 1) writer.commit([many]);
  const count = { kind: 'statement', sql: 'select count(*) as n from palyra_notifications', parameters: [] } as const;
  expect(writer.commit([{ steps: [count] }])).toMatchObject({
    units: [{ outcome: { results: [{ rows: [{ n: 20_000 }] }] } }],
  });
  await end();
});

test('a unit that rolls the whole transaction back fails alone', async () => {
  const { writer, end } = await failingDisk();
  const insert = (seq: number, or = '') => ({
    steps: [
      {
        kind: 'statement',
        sql: `insert ${or} into palyra_notifications (seq, channel, payload, origin) values (?, 'c', 'p', 'o')`,
        parameters: [seq],
      } as const,
    ],
  });
  writer.commit([insert(1)]);
  expect(writer.commit([insert(2), insert(1, 'or rollback'), insert(3)])).toMatchObject({
    units: [
      { outcome: { kind: 'committed' } },
      { error: { code: 'storage.constraint_violated' } },
      { outcome: { kind: 'committed' } },
    ],
  });
  await end();
});
