export { createModelTools, type ModelAnswer, type ModelTools } from './adapters/answer-model.ts';
export { createToolNames, type ToolNames } from './adapters/tool-names.ts';
export { CLIENT_ERRORS, ClientError, type ClientErrorCode } from './client-error.ts';
export {
  type AddressOptions,
  type BoxOptions,
  type ConnectOptions,
  connect,
  type DeviceOptions,
  type HomeOptions,
  type TokenOptions,
} from './connect.ts';
export type { TlsFiles } from './connection/client-tls.ts';
export { type Listening, type LocalCredential, readListening } from './connection/find-palyrad.ts';
export type { ReconnectOptions } from './connection/reconnect.ts';
export type { Client, StartRunOptions } from './open-client.ts';
export type { AttachedInput } from './run/attached-input.ts';
export type { Run } from './run/open-run.ts';
export type { CallOptions, CallOutput } from './run/pending-call.ts';
export {
  type CompletedCall,
  isCompleted,
  isRefused,
  requireCompleted,
  ToolCallError,
} from './run/require-completed.ts';
export type { RunEvent } from './run/run-event.ts';
export type {
  CallApproval,
  CallAttestation,
  CallDecision,
  CallOutcome,
  CompletedOutcome,
  ScopeName,
  ToolCallResult,
  UncompletedOutcome,
} from './run/tool-call-result.ts';
export type { WatchOptions } from './run/watch-run.ts';
export type {
  ApprovalAnswer,
  ApprovalChange,
  Approvals,
  DecisionRecorded,
  PendingApproval,
  Signer,
} from './services/approvals.ts';
export type { Device, Devices, NewDevice, PairingEvent, WhoAmI } from './services/devices.ts';
export type { Grant, Grants } from './services/grants.ts';
export type { EntryFilter, EntryPage, EntryQuery, Journal, JournalEntry } from './services/journal.ts';
export type {
  ActivePolicies,
  AppliedPolicies,
  NewRule,
  Policies,
  RememberedRule,
  WrittenRule,
} from './services/policies.ts';
export type { CallRecord, CallSummary, RunSummary, Runs, Undone, UndoQuery } from './services/runs.ts';
export type { AgentStatus, Status, TierStatus } from './services/status.ts';
export type { CreatedToken, NewToken, Token, Tokens } from './services/tokens.ts';
export type { Tool, Tools } from './services/tools.ts';
export type { Workspace, Workspaces } from './services/workspaces.ts';
