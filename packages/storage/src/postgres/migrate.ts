import type pg from 'pg';
import {
  type AppliedMigration,
  type ColumnTypes,
  MIGRATIONS_TABLE,
  pendingMigrations,
  type RenderedMigration,
} from '../migration.ts';
import { StorageError } from '../storage-error.ts';
import { postgresFault } from './postgres-error.ts';

export const POSTGRES_TYPES: ColumnTypes = {
  text: 'text',
  integer: 'bigint',
  real: 'double precision',
  bytes: 'bytea',
  strict: '',
  strictByKey: '',
};

const LOCK = "select pg_advisory_xact_lock(hashtextextended('palyra migrations', 0))";

/** Each migration in its own transaction; several nodes may start at once, so each takes the lock before it looks. */
export async function migrate(pool: pg.Pool, wanted: readonly RenderedMigration[]): Promise<void> {
  try {
    await refuseForgetfulServer(pool);
    await inTransaction(pool, async (client) => {
      await client.query(
        `create table if not exists ${MIGRATIONS_TABLE} (id text primary key, checksum text not null, applied_at bigint not null)`,
      );
      pendingMigrations(wanted, await applied(client));
    });
    for (const { id } of wanted) await inTransaction(pool, (client) => applyOne(client, id, wanted));
  } catch (error) {
    throw postgresFault(error);
  }
}

async function applyOne(client: pg.PoolClient, id: string, wanted: readonly RenderedMigration[]): Promise<void> {
  const migration = pendingMigrations(wanted, await applied(client)).find((pending) => pending.id === id);
  if (migration === undefined) return;
  for (const text of migration.sql) await client.query(patiently(text));
  await client.query(`insert into ${MIGRATIONS_TABLE} values ($1, $2, $3)`, [id, migration.checksum, Date.now()]);
}

async function applied(client: pg.PoolClient): Promise<readonly AppliedMigration[]> {
  return (await client.query<AppliedMigration>(`select id, checksum from ${MIGRATIONS_TABLE}`)).rows;
}

async function refuseForgetfulServer(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ fsync: string }>('show fsync');
  if (rows[0]?.fsync === 'on') return;
  throw new StorageError(
    'storage.not_durable',
    'The server runs with fsync = off, so what it acknowledges may be lost.',
    {
      fix: 'Set fsync = on in postgresql.conf.',
    },
  );
}

async function inTransaction(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(patiently(LOCK));
    await work(client);
    await client.query('commit');
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/** A migration of a large table takes as long as it takes, and so does waiting for another node's. */
function patiently(text: string): pg.QueryConfig {
  const query = { text, query_timeout: 2 ** 31 - 1 };
  return query;
}
