export type { AppendedEntry, AppendOptions, AppendOutcome, CallerDraft, Draft, DraftOf } from './append-entries.ts';
export { type ArchivedSegment, archiveSegments } from './archive-segments.ts';
export type { AttestedCall, AttestOutcome } from './attest-call.ts';
export type { Body, BodySource } from './bodies/prepare-body.ts';
export { manySignatures } from './check-signatures.ts';
export type { JournalEntry } from './entry-view.ts';
export { findId, findLog, type SoughtId } from './find-id.ts';
export { type AttestedApproval, attestationIn, type ToolAttestation } from './format/attestation.ts';
export { type Checkpoint, parseCheckpoint } from './format/checkpoint.ts';
export type { Sha256, Signer, VerifyCrypto } from './format/crypto.ts';
export { isEnvelopeSignedBy, openEnvelope } from './format/dsse.ts';
export { type Actor, parseActor } from './format/entry.ts';
export { ENTRY_KINDS, type EntryData, type EntryKind } from './format/entry-kinds.ts';
export type { KeyRole, SignedKeyStatement } from './format/key-statement.ts';
export type { EgressSnapshot, ToolCallPolicySnapshot } from './format/policy-snapshot.ts';
export { formatVkey, type NoteKey, parseVkey } from './format/signed-note.ts';
export { JOURNAL_ERRORS, JournalError, type JournalErrorCode } from './journal-error.ts';
export { journalPrograms } from './journal-programs.ts';
export { type JournalKeys, openJournalKeys } from './keys/journal-keys.ts';
export { type BundleDeps, type BundleOptions, makeBundle } from './make-bundle.ts';
export { nodeCrypto, nodeSha256 } from './node-crypto.ts';
export {
  type HomeJournal,
  hadLog,
  type JournalReader,
  type JournalWriter,
  openHomeForReading,
  openHomeForWriting,
  type RecoveredHome,
  type RecoverOptions,
  recoverHome,
} from './open-home.ts';
export { type Journal, type JournalDeps, openJournal } from './open-journal.ts';
export { type PruneOptions, type PruneOutcome, pruneSegments } from './prune-segments.ts';
export { type EntryFilter, type EntryPage, type LogAddress, type PageRequest, queryEntries } from './query-entries.ts';
export { listLogs } from './read-log.ts';
export { type SealOptions, type SealOutcome, sealSegment } from './seal-segment.ts';
export type { SegmentDeps } from './segments.ts';
export { JOURNAL_MIGRATIONS, type JournalSchema, type LogRow } from './store/journal-schema.ts';
export type { ReadBody, StoredBodies } from './stored-bodies.ts';
export type { TailOptions } from './tail-entries.ts';
export { createTreeProofs, type TreeProofs } from './tree-proofs.ts';
export { uncomparedCheckpoints } from './verify/describe-report.ts';
export {
  type Established,
  FINDINGS,
  type Finding,
  type FindingCode,
  type LogCounts,
  type LogReport,
  type VerifiedState,
  type VerifyPins,
} from './verify/report.ts';
export { type BodyStanding, type BundleReport, verifyBundle } from './verify/verify-bundle.ts';
export { type ExportReport, verifyExport } from './verify/verify-export.ts';
export type { TextReport } from './verify/verify-text.ts';
export { type HomeReport, type HomeVerification, type SoundLog, verifyHome } from './verify-home.ts';
export {
  type CosignAnswer,
  type CosignRequest,
  type CosignRequestDeps,
  makeCosignRequest,
  parseCosignAnswer,
  parseCosignRequest,
} from './witness/cosign-request.ts';
export { type CosignOutcome, createWitness, type Witness, type WitnessDeps } from './witness/create-witness.ts';
export { refuseOwnLog, type WitnessedLog, type WitnessHome } from './witness/own-log.ts';
export {
  type RecordCosignatureDeps,
  type RecordedCosignature,
  recordCosignature,
} from './witness/record-cosignature.ts';
export { openWitnessDirectory, type WitnessDirectory } from './witness/witness-directory.ts';
export {
  createFileWitnessStore,
  type Evidence,
  type HeldMemory,
  type Remembered,
  type WitnessStore,
} from './witness/witness-store.ts';
export { type ExportDeps, type ExportOptions, writeExport } from './write-export.ts';
