export type { Answer, SignedNo } from './answer.ts';
export { commandLine, covers, type Effect, effectInWords } from './approval-effect.ts';
export {
  APPROVAL_ERRORS,
  APPROVAL_REFUSALS,
  ApprovalError,
  type ApprovalErrorCode,
  type ApprovalRefusal,
  type Refused,
} from './approval-error.ts';
export {
  type ApprovalLimits,
  type ApprovalSettings,
  DEFAULT_APPROVAL_LIMITS,
  limitsOf,
} from './approval-limits.ts';
export { approvalPrograms } from './approval-programs.ts';
export type { ApprovalEvent, CommitWithRecord } from './approval-record.ts';
export { type ApprovalSubject, type BoundBytes, subjectDigest } from './approval-subject.ts';
export type { AskOutcome } from './ask.ts';
export type { Asked } from './asked.ts';
export type { Decider, DeciderIdentity, SignedMessage, VerifiedSigner, VerifySignature } from './credential.ts';
export type { AlwaysHere, DecideOutcome, HumanAnswer } from './decide.ts';
export {
  type DecisionStatement,
  type GrantPattern,
  parseStatement,
  type SignedStatement,
  signedBytes,
  statementText,
} from './decision-statement.ts';
export type { Grant, GrantFilter, Redecision, RevokeOutcome } from './grants.ts';
export type { PendingPage, PendingToolApproval } from './list-approvals.ts';
export { type Approvals, type ApprovalsDeps, openApprovals, type RedecideOutcome } from './open-approvals.ts';
export type { Permit, PermitOutcome } from './permit.ts';
export type { PromptFacts, ShownAction, StartedAction } from './prompt/prompt-facts.ts';
export type { PromptOption } from './prompt/prompt-options.ts';
export {
  type ApprovalPromptRecord,
  makePrompt,
  type PromptedAct,
  type PromptedQuestion,
  type PromptInput,
  promptDigest,
  promptText,
} from './prompt/prompt-record.ts';
export { type Assurance, type DecisionScope, type Needs, PLAIN_NEEDS, type Question } from './question.ts';
export {
  APPROVAL_MIGRATIONS,
  type ApprovalState,
  type ApprovalsSchema,
  type GrantState,
} from './store/approvals-schema.ts';
export type { WaitOptions } from './waiting-room.ts';
