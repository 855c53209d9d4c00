import { JOURNAL_MIGRATIONS, type JournalSchema } from '@palyra/journal';
import { type Migration, openDatabase } from '@palyra/storage';
import { sharedPostgres } from '@palyra/testkit';
import pg from 'pg';
import { expect, test, vi } from 'vitest';

const open = (url: string, migrations: readonly Migration[]) =>
  openDatabase<JournalSchema>({
    location: { kind: 'postgres', url, poolSize: 2 },
    migrations,
    programs: [],
    lockTimeoutMs: 5_000,
    logger: { error: () => undefined },
  });

test('what another node of the earlier release appends while the entries are laid by one integer is not lost', async () => {
  const { url, giveBack } = await sharedPostgres().createDatabase();
  await (await open(url, JOURNAL_MIGRATIONS.slice(0, 3))).close();
  const earlier = new pg.Client({ connectionString: url });
  await earlier.connect();
  await earlier.query('begin');
  await earlier.query(`insert into journal_entries (log, seq, at, actor, kind, version, data, hash, principal)
    values (1, 7, 0, 'daemon', 'run.ended', 1, '{}', '', 'daemon')`);
  await earlier.query(`insert into journal_checkpoints (log, size, note) values (1, 8, 'note')`);

  const opening = open(url, JOURNAL_MIGRATIONS);
  await vi.waitFor(async () => {
    const { rows } = await earlier.query(
      `select 1 from pg_locks where not granted and relation = 'journal_entries'::regclass`,
    );
    expect(rows.length).toBeGreaterThan(0);
  });
  await earlier.query('commit');
  const migrated = await opening;
  expect(await migrated.read.selectFrom('journal_entries').select(['log', 'seq']).execute()).toEqual([
    { log: 1, seq: 7 },
  ]);
  expect(await migrated.read.selectFrom('journal_checkpoints').select(['log', 'size']).execute()).toEqual([
    { log: 1, size: 8 },
  ]);
  await expect(
    earlier.query(`insert into journal_checkpoints (log, size, note) values (1, 9, 'note')`),
  ).rejects.toThrow('cannot insert a non-DEFAULT value');

  await earlier.end();
  await migrated.close();
  await giveBack();
});
