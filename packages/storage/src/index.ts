export type { Database, ReadQueries, Subscription, SubscriptionEvent, WriteQueries } from './database.ts';
export type { ColumnTypes, Migration } from './migration.ts';
export { type DatabaseOptions, openDatabase, openForReading, type ReadOnlyDatabase } from './open-database.ts';
export {
  change,
  type ProgramContext,
  type ProgramModule,
  type ProgramRun,
  rowsOf,
  type WriterProgram,
} from './program.ts';
export { sql } from './query-builder.ts';
export { reusableStatement } from './reusable-statement.ts';
export { holdLock } from './sqlite/hold-lock.ts';
export { madeSchema, type SchemaObject } from './sqlite/made-schema.ts';
export { STORAGE_ERRORS, StorageError, type StorageErrorCode } from './storage-error.ts';
export type { TransactionMemory } from './transaction-memory.ts';
export {
  type CommitOutcome,
  type CommitUnit,
  type Notification,
  program,
  type Step,
  type StepResult,
  statement,
} from './unit.ts';
