import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Migration } from '../migration.ts';
import { StorageError } from '../storage-error.ts';
import type { Patience } from './patience.ts';
import { connectionLost } from './postgres-error.ts';

/** How a unit whose answer got lost is found again: by its transaction while it runs, by its row once it is done. */
export interface UnitMark {
  readonly id: string;
  readonly transaction: string;
}

export const UNITS_MIGRATION: Migration = {
  id: 'storage/0001-units',
  statements: (t) => [
    `create table palyra_units (id ${t.text} primary key, at ${t.integer} not null)${t.strict}`,
    'create index palyra_units_at on palyra_units (at)',
  ],
};

const DOUBT_PAUSE_MS = 100;
/** Longer than anybody waits for an answer; the marks of older units are of no use. */
const KEPT_MARKS_MS = 3_600_000;
/** Whatever the server, the role or the URL say: a program reads what was committed before it got its lock. */
const BEGIN = 'begin isolation level read committed read write';
/** The server's clock on both sides: a node whose clock is ahead would prune the marks of the others. */
const NOW = '(extract(epoch from clock_timestamp()) * 1000)::bigint';
const INVALID_PARAMETER_VALUE = '22023';

/** Begins a transaction that leaves a row if it commits. One round trip: the text holds only what we made ourselves. */
export async function beginMarked(client: pg.PoolClient): Promise<UnitMark> {
  const id = randomUUID();
  const insert = `insert into palyra_units (id, at) values ('${id}', ${NOW})`;
  const answers = await client.query(`${BEGIN}; ${insert} returning pg_current_xact_id()::text as transaction`);
  const transaction = (answers as unknown as pg.QueryResult<{ transaction: string }>[])[1]?.rows[0]?.transaction;
  if (transaction !== undefined) return { id, transaction };
  throw new StorageError('storage.invalid_statement', 'PostgreSQL named no transaction.');
}

interface DoubtContext extends Patience {
  readonly pool: pg.Pool;
}

/**
 * Whether a unit happened whose connection broke while it committed. False means that trying again is safe; throws
 * `storage.outcome_unknown` when the server does not say in time.
 */
export async function wasCommitted(mark: UnitMark, { pool, clock, patienceMs }: DoubtContext): Promise<boolean> {
  // A patience of its own: the unit's may have run out while its answer was waited for.
  const deadline = clock.now() + patienceMs;
  do {
    try {
      if (!(await isRunning(mark, pool))) return await leftItsRow(mark, pool);
    } catch (error) {
      if (!connectionLost(error)) throw error;
    }
    await clock.sleep(DOUBT_PAUSE_MS);
  } while (clock.now() < deadline);
  throw new StorageError(
    'storage.outcome_unknown',
    'The connection broke at the commit, and the server did not say in time how it ended.',
    { fix: 'Read the rows before trying again.' },
  );
}

/** The server may still be at it although nobody listens any more. */
async function isRunning({ transaction }: UnitMark, pool: pg.Pool): Promise<boolean> {
  try {
    const { rows } = await pool.query<{ status: string | null }>('select pg_xact_status($1::xid8) as status', [
      transaction,
    ]);
    return rows[0]?.status === 'in progress';
  } catch (error) {
    // After a crash the server has forgotten the ids of what it lost, and says that ours is yet to come.
    if (error instanceof pg.DatabaseError && error.code === INVALID_PARAMETER_VALUE) return false;
    throw error;
  }
}

/**
 * The row, not the transaction's status, says how it ended: after a crash the server hands out the same ids again, and
 * another unit's commit would pass for ours.
 */
async function leftItsRow({ id }: UnitMark, pool: pg.Pool): Promise<boolean> {
  const { rowCount } = await pool.query('select from palyra_units where id = $1', [id]);
  return rowCount === 1;
}

export async function forgetOldMarks({ pool }: Pick<DoubtContext, 'pool'>): Promise<void> {
  await pool.query(`delete from palyra_units where at < ${NOW} - ${KEPT_MARKS_MS}`);
}
