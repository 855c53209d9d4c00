import type pg from 'pg';
import type { ProgramRun } from '../program.ts';
import { programsIn, runUnit, sealPrograms, type UnitPrograms } from '../run-unit.ts';
import { StorageError } from '../storage-error.ts';
import { createMemories } from '../transaction-memory.ts';
import type { CommitOutcome, CommitUnit, Notification } from '../unit.ts';
import { NOTIFY_CHANNEL } from './listen.ts';
import { type Patience, repeatWhileAway } from './patience.ts';
import { connectionLost } from './postgres-error.ts';
import { beginMarked, type UnitMark, wasCommitted } from './unit-mark.ts';

export interface CommitContext extends UnitPrograms, Patience {
  readonly pool: pg.Pool;
}

/**
 * One transaction for the unit. A unit decides nothing on the way, so it is tried again when the server was away, and
 * when the answer to `commit` itself got lost, the server is asked how the transaction ended.
 */
export function commitUnit(unit: CommitUnit, context: CommitContext): Promise<CommitOutcome> {
  return repeatWhileAway(() => attempt(unit, context), context);
}

async function attempt(unit: CommitUnit, context: CommitContext): Promise<CommitOutcome> {
  const client = await context.pool.connect();
  const { mark, outcome } = await prepare(client, unit, context);
  try {
    const { command } = await client.query(outcome.kind === 'committed' ? 'commit' : 'rollback');
    client.release();
    if (outcome.kind === 'committed' && command !== 'COMMIT') {
      throw new StorageError('storage.invalid_statement', 'PostgreSQL rolled the unit back.');
    }
    return outcome;
  } catch (error) {
    if (error instanceof StorageError) throw error;
    client.release(true);
    if (!connectionLost(error) || outcome.kind === 'conflict') throw error;
    if (await wasCommitted(mark, context)) return outcome;
    throw error;
  }
}

/** Everything up to the commit; on a fault the transaction is gone and the connection given back. */
async function prepare(
  client: pg.PoolClient,
  unit: CommitUnit,
  context: CommitContext,
): Promise<{ mark: UnitMark; outcome: CommitOutcome }> {
  try {
    const mark = await beginMarked(client);
    await lockPrograms(client, unit);
    return { mark, outcome: await runWhole(client, unit, context) };
  } catch (error) {
    // On a broken connection nobody would answer, and the server undoes the transaction by itself.
    if (connectionLost(error)) client.release(true);
    else await client.query('rollback').then(...giveBack(client));
    throw error;
  }
}

function giveBack(client: pg.PoolClient): [() => void, () => void] {
  return [() => client.release(), () => client.release(true)];
}

async function lockPrograms(client: pg.PoolClient, unit: CommitUnit): Promise<void> {
  // In one order everywhere, or two units with the same two programs could wait for each other.
  for (const name of [...programsIn([unit])].toSorted()) {
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`palyra program ${name}`]);
  }
}

async function runWhole(client: pg.PoolClient, unit: CommitUnit, programs: UnitPrograms): Promise<CommitOutcome> {
  const context = { ...programs, memories: createMemories() };
  const outcome = await drive(client, runUnit(unit, context));
  if (outcome.kind === 'conflict') return outcome;
  const sealed = await drive(client, sealPrograms(programsIn([unit]), context));
  await tell(client, [...(unit.notifications ?? []), ...sealed]);
  return outcome;
}

async function drive<Output>(client: pg.PoolClient, run: ProgramRun<Output>): Promise<Output> {
  let next = run.next();
  while (next.done !== true) {
    const { rowCount, rows } = await client.query(next.value.sql, [...next.value.parameters]);
    next = run.next({ rowCount: rowCount ?? 0, rows });
  }
  return next.value;
}

async function tell(client: pg.PoolClient, notifications: readonly Notification[]): Promise<void> {
  for (const notification of notifications) {
    await client.query('select pg_notify($1, $2)', [NOTIFY_CHANNEL, JSON.stringify(notification)]);
  }
}
