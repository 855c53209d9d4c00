export { type CapturedLine, type CaptureLogger, createCaptureLogger } from './capture-logger.ts';
export { createFakeClock, type FakeClock } from './fake-clock.ts';
export {
  type OrdinaryUser,
  type OrdinaryUserCommand,
  type OrdinaryUserOutcome,
  ordinaryUser,
  removeOrdinaryUser,
  runAsOrdinaryUser,
} from './ordinary-user.ts';
export {
  type PostgresAccess,
  type PrivatePostgres,
  postgresAt,
  startPrivatePostgres,
  type TestDatabase,
} from './private-postgres.ts';
export {
  LeftBehind,
  type LeftProcess,
  type Reaper,
  type ReaperOptions,
  reapAfterEachTest,
  startReaper,
  withReaper,
} from './reaper.ts';
export { sharedPostgres } from './shared-postgres.ts';
export { describeStorageContract, type StoragePlace } from './storage-contract/describe-storage-contract.ts';
export {
  brokenLink,
  chainHash,
  LEDGER_MIGRATIONS,
  LEDGER_PROGRAMS,
  type LedgerSchema,
} from './storage-contract/ledger.ts';
export {
  balanceOf,
  type Ledger,
  type LedgerOptions,
  openLedger,
  putAccount,
} from './storage-contract/ledger-database.ts';
export { type LedgerProcess, startLedgerProcess } from './storage-contract/ledger-process.ts';
export { createTemporaryHome, type TemporaryHome } from './temporary-home.ts';
