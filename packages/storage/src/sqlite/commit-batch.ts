import type { DatabaseSync } from 'node:sqlite';
import { runUnit, type UnitPrograms } from '../run-unit.ts';
import { StorageError } from '../storage-error.ts';
import type { CommitOutcome, CommitUnit } from '../unit.ts';
import type { Connection } from './connection.ts';
import { diskFailed, sqliteFault } from './sqlite-error.ts';

export type UnitResult = { readonly outcome: CommitOutcome } | { readonly error: StorageError };

export interface BatchContext extends UnitPrograms {
  readonly connection: Connection;
  /** Distinguishes this process's notifications from those of others. */
  readonly origin: string;
}

/**
 * One transaction and one flush for all units that were waiting: each unit has its own savepoint, so a conflict or a
 * fault undoes that unit alone, and nobody is told anything before the commit. Throws when no unit was written, and
 * `storage.outcome_unknown` when the disk failed at the very end and only the next start will show what is on it.
 */
export function commitBatch(units: readonly CommitUnit[], context: BatchContext): readonly UnitResult[] {
  try {
    return commitTogether(units, context);
  } catch (error) {
    // What one unit did to the whole transaction (an `or rollback`, a constraint checked at the end) is its own affair.
    if (units.length === 1 || !isOneUnitsFault(error)) throw error;
    return units.map((unit) => commitAlone(unit, context));
  }
}

function isOneUnitsFault(error: unknown): boolean {
  return sqliteFault(error).code === 'storage.constraint_violated';
}

function commitAlone(unit: CommitUnit, context: BatchContext): UnitResult {
  try {
    const [result] = commitTogether([unit], context);
    return result ?? { error: new StorageError('storage.outcome_unknown', 'The unit got no answer.') };
  } catch (error) {
    return { error: sqliteFault(error) };
  }
}

function commitTogether(units: readonly CommitUnit[], context: BatchContext): readonly UnitResult[] {
  const { database } = context.connection;
  database.exec('begin immediate');
  try {
    const results = units.map((unit) => runInSavepoint(unit, context));
    flush(database);
    return results;
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

function flush(database: DatabaseSync): void {
  try {
    database.exec('commit');
  } catch (cause) {
    if (!diskFailed(cause)) throw cause;
    throw new StorageError('storage.outcome_unknown', 'The disk failed while the unit was being flushed to it.', {
      cause,
      fix: 'Look at the kernel log, and read the rows before trying again.',
    });
  }
}

function runInSavepoint(unit: CommitUnit, context: BatchContext): UnitResult {
  const { connection } = context;
  connection.query('savepoint unit', []);
  try {
    const outcome = drive(unit, context);
    if (outcome.kind === 'conflict') connection.query('rollback to unit', []);
    connection.query('release unit', []);
    return { outcome };
  } catch (error) {
    // Some faults (disk full, I/O) end the whole transaction: then every unit in it has failed, not just this one.
    if (!connection.database.isTransaction) throw error;
    connection.query('rollback to unit', []);
    connection.query('release unit', []);
    return { error: sqliteFault(error) };
  }
}

function drive(unit: CommitUnit, context: BatchContext): CommitOutcome {
  const { connection, origin } = context;
  const run = runUnit(unit, context);
  let next = run.next();
  while (next.done !== true) {
    next = run.next(connection.query(next.value.sql, next.value.parameters));
  }
  if (next.value.kind === 'committed') {
    for (const { channel, payload } of unit.notifications ?? []) {
      connection.query('insert into palyra_notifications (channel, payload, origin) values (?, ?, ?)', [
        channel,
        payload,
        origin,
      ]);
    }
  }
  return next.value;
}
