import type { ProgramRun } from '../program.ts';
import { programsIn, runUnit, sealPrograms, type UnitPrograms } from '../run-unit.ts';
import { StorageError } from '../storage-error.ts';
import type { TransactionMemories } from '../transaction-memory.ts';
import type { CommitOutcome, CommitUnit, Notification } from '../unit.ts';
import type { Connection } from './connection.ts';
import type { KeptMemories } from './kept-memories.ts';
import { diskFailed, sqliteFault } from './sqlite-error.ts';

export type UnitResult = { readonly outcome: CommitOutcome } | { readonly error: StorageError };

export interface BatchResult {
  /** One for each unit, in order. */
  readonly units: readonly UnitResult[];
  /** What the programs said when they sealed: to be told when this is returned, for then it is durable. */
  readonly sealed: readonly Notification[];
}

export interface BatchContext extends UnitPrograms {
  readonly connection: Connection;
  readonly kept: KeptMemories;
  /** Distinguishes this process's notifications from those of others. */
  readonly origin: string;
}

/**
 * One transaction and one flush for all units that were waiting, and nobody is told anything before the commit. Throws
 * when no unit was written, and `storage.outcome_unknown` when the disk failed at the very end and only the next start
 * will show what is on it.
 */
export function commitBatch(units: readonly CommitUnit[], context: BatchContext): BatchResult {
  // Savepoints cost as much as many a unit, and there is seldom anything to undo: then all of it is done again with them.
  return commitUnlessOneFails(units, context) ?? commitWithSavepoints(units, context);
}

/** Prepared like every other statement: compiling it each time takes longer than beginning. */
function begin({ connection }: BatchContext): void {
  connection.query('begin immediate', []);
}

interface Transaction extends BatchContext {
  readonly memories: TransactionMemories;
}

function commitUnlessOneFails(units: readonly CommitUnit[], batch: BatchContext): BatchResult | undefined {
  const { database } = batch.connection;
  begin(batch);
  try {
    const context = { ...batch, memories: batch.kept.take() };
    const results = runWithoutSavepoints(units, context);
    if (results !== undefined) return sealAndFlush(units, results, context);
    database.exec('rollback');
    return undefined;
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    if (isOneUnitsFault(error)) return undefined;
    throw error;
  }
}

/** Undefined when a unit met a conflict or a fault, and something must be undone. */
function runWithoutSavepoints(units: readonly CommitUnit[], context: Transaction): UnitResult[] | undefined {
  const results: UnitResult[] = [];
  for (const unit of units) {
    const result = runAlone(unit, context);
    if (result === undefined) return undefined;
    results.push(result);
  }
  return results;
}

function runAlone(unit: CommitUnit, context: Transaction): UnitResult | undefined {
  try {
    const outcome = drive(runUnit(unit, context), context);
    if (outcome.kind === 'conflict') return undefined;
    tell(unit.notifications ?? [], context);
    return { outcome };
  } catch (error) {
    // Some faults (disk full, I/O) end the whole transaction: then every unit in it has failed, not just this one.
    if (!context.connection.database.isTransaction) throw error;
    return undefined;
  }
}

/** Each unit has its own savepoint, so a conflict or a fault undoes that unit alone. */
function commitWithSavepoints(units: readonly CommitUnit[], context: BatchContext): BatchResult {
  try {
    return commitTogether(units, context);
  } catch (error) {
    // What one unit did to the whole transaction (an `or rollback`, a constraint checked at the end) is its own affair.
    if (units.length === 1 || !isOneUnitsFault(error)) throw error;
    const alone = units.map((unit) => commitAlone(unit, context));
    return { units: alone.flatMap((batch) => batch.units), sealed: alone.flatMap((batch) => batch.sealed) };
  }
}

function isOneUnitsFault(error: unknown): boolean {
  return sqliteFault(error).code === 'storage.constraint_violated';
}

function commitAlone(unit: CommitUnit, context: BatchContext): BatchResult {
  try {
    return commitTogether([unit], context);
  } catch (error) {
    return { units: [{ error: sqliteFault(error) }], sealed: [] };
  }
}

function commitTogether(units: readonly CommitUnit[], batch: BatchContext): BatchResult {
  const { database } = batch.connection;
  begin(batch);
  try {
    const context = { ...batch, memories: batch.kept.take() };
    const results = units.map((unit) => runInSavepoint(unit, context));
    return sealAndFlush(units, results, context);
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

function sealAndFlush(units: readonly CommitUnit[], results: readonly UnitResult[], context: Transaction): BatchResult {
  const sealed = drive(sealPrograms(programsIn(units), context), context);
  tell(sealed, context);
  flush(context.connection);
  context.kept.keep(context.memories);
  return { units: results, sealed };
}

function flush(connection: Connection): void {
  try {
    connection.query('commit', []);
  } catch (cause) {
    if (!diskFailed(cause)) throw cause;
    throw new StorageError('storage.outcome_unknown', 'The disk failed while the unit was being flushed to it.', {
      cause,
      fix: 'Look at the kernel log, and read the rows before trying again.',
    });
  }
}

function runInSavepoint(unit: CommitUnit, context: Transaction): UnitResult {
  const { connection, memories } = context;
  const forget = memories.mark();
  const undo = () => {
    connection.query('rollback to unit', []);
    forget();
  };
  connection.query('savepoint unit', []);
  try {
    const outcome = drive(runUnit(unit, context), context);
    if (outcome.kind === 'committed') tell(unit.notifications ?? [], context);
    else undo();
    connection.query('release unit', []);
    return { outcome };
  } catch (error) {
    // Some faults (disk full, I/O) end the whole transaction: then every unit in it has failed, not just this one.
    if (!connection.database.isTransaction) throw error;
    undo();
    connection.query('release unit', []);
    return { error: sqliteFault(error) };
  }
}

function drive<Output>(run: ProgramRun<Output>, { connection }: BatchContext): Output {
  let next = run.next();
  while (next.done !== true) next = run.next(connection.query(next.value.sql, next.value.parameters));
  return next.value;
}

function tell(notifications: readonly Notification[], { connection, origin }: BatchContext): void {
  for (const { channel, payload } of notifications) {
    connection.query('insert into palyra_notifications (channel, payload, origin) values (?, ?, ?)', [
      channel,
      payload,
      origin,
    ]);
  }
}
