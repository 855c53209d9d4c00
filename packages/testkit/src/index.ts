export type { AcknowledgingProcess } from './acknowledging-process.ts';
export { decideAsShown, draftAsShown, type LookedAnswer } from './approvals-contract/answer-as-shown.ts';
export {
  type ApprovalsHome,
  type ApprovalsHomeOptions,
  openApprovalsHome,
  recordInTables,
  requirePermit,
  SAMPLE_ORIGIN,
  usePermit,
} from './approvals-contract/approvals-home.ts';
export { startApprovalsProcess } from './approvals-contract/approvals-process.ts';
export { type ApprovalsPlace, describeApprovalsContract } from './approvals-contract/describe-approvals-contract.ts';
export { SAMPLE_HOST, type SampleQuestion, sampleQuestion } from './approvals-contract/sample-questions.ts';
export { type CapturedLine, type CaptureLogger, createCaptureLogger } from './capture-logger.ts';
export { createFakeClock, type FakeClock } from './fake-clock.ts';
export { createFakeCredentials, type FakeCredentialOptions, type FakeCredentials } from './fake-credentials.ts';
export { interpretBpf, type SystemCall } from './interpret-bpf.ts';
export { journalFaults } from './journal-contract/check-journal.ts';
export { describeJournalContract, type RemovableJournalPlace } from './journal-contract/describe-journal-contract.ts';
export {
  bodyDirectoryOf,
  type JournalHome,
  type JournalHomeOptions,
  type JournalPlace,
  keyDirectoryOf,
  openJournalDatabase,
  openJournalHome,
} from './journal-contract/journal-home.ts';
export { startJournalProcess } from './journal-contract/journal-process.ts';
export {
  attestSampleCall,
  createSampleCalls,
  SAMPLE_ACTOR,
  SAMPLE_SNAPSHOT,
  type SampleCalls,
} from './journal-contract/sample-calls.ts';
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
export { startLedgerProcess } from './storage-contract/ledger-process.ts';
export { createTemporaryHome, type TemporaryHome } from './temporary-home.ts';
