/** Verification without `node:`, for browsers and for the standalone verifier. */
export type { ToolAttestation } from '../format/attestation.ts';
export { type Checkpoint, parseCheckpoint } from '../format/checkpoint.ts';
export type { Sha256, VerifyCrypto } from '../format/crypto.ts';
export { formatVkey, type NoteKey, parseVkey } from '../format/signed-note.ts';
export { JOURNAL_ERRORS, JournalError, type JournalErrorCode } from '../journal-error.ts';
export { BUNDLE_FORMAT, type Bundle, parseBundle } from './bundle-format.ts';
export { describeReport, type ReportInWords } from './describe-report.ts';
export { EXPORT_FORMAT, type ExportHeader, type ExportLine, parseExportLine } from './export-format.ts';
export type { LogSource } from './log-source.ts';
export type { ExportText } from './read-export.ts';
export {
  type Established,
  FINDINGS,
  type Finding,
  type FindingCode,
  type LogReport,
  type VerifiedState,
  type VerifyPins,
} from './report.ts';
export { type BundleReport, verifyBundle } from './verify-bundle.ts';
export { type ExportReport, verifyExport } from './verify-export.ts';
export { verifyLog } from './verify-log.ts';
export { type TextReport, type VerifiableText, verifyText } from './verify-text.ts';
export { createWebCrypto } from './web-crypto.ts';
