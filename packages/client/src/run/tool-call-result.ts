import {
  type Approval,
  ApprovalOutcome,
  ApprovalScope,
  type Attestation,
  type CallEnded,
  type Decision,
  DecisionKind,
  type Outcome,
  OutcomeKind,
  type ToolCallResult as WireResult,
} from '@palyra/api';
import type { JsonValue } from '@palyra/primitives';
import { ClientError } from '../client-error.ts';
import { json, number, said, text } from '../wire/plain.ts';

/** What became of one call. The same JSON from `palyra exec`, `palyra tool call`, the SDK and MCP. */
export interface ToolCallResult {
  readonly run_id: string;
  readonly call_id: string;
  /** `unknown` when there is no such tool. */
  readonly tool: string;
  readonly decision: CallDecision;
  /** Absent when nobody was asked. */
  readonly approval?: CallApproval;
  readonly outcome: CallOutcome;
  readonly attestation: CallAttestation;
}

/** What policy said, and what would make it another answer. */
export interface CallDecision {
  readonly kind: 'allow' | 'ask' | 'deny';
  readonly policy_ids: readonly string[];
  readonly reason_code: string;
  readonly reason: string;
  readonly fix?: string;
}

export interface CallApproval {
  readonly id: string;
  readonly outcome: 'approved' | 'denied' | 'expired' | 'cancelled' | 'pending';
  readonly scope?: ScopeName;
  readonly decided_by?: string;
  readonly device?: string;
  readonly assurance?: string;
}

export type ScopeName = 'once' | 'session' | 'timeboxed' | 'always';

/** Only `completed` means that the tool did what it does; a command that exits with 1 has completed. */
export type CallOutcome = CompletedOutcome | UncompletedOutcome;

export interface CompletedOutcome extends Printed {
  readonly kind: 'completed';
}

export interface UncompletedOutcome extends Printed {
  /** Of `refused` nothing ran. Of `unknown_outcome` something may have: palyrad ended meanwhile. */
  readonly kind: 'failed' | 'refused' | 'timed_out' | 'cancelled' | 'quota_exceeded' | 'unknown_outcome';
  readonly code: string;
  readonly message: string;
  readonly fix?: string;
}

interface Printed {
  readonly exit_code?: number;
  readonly signal?: string;
  /** Text where it is text, else base64 under the other name. Cut at the limit, secrets masked. */
  readonly stdout?: string;
  readonly stdout_base64?: string;
  readonly stderr?: string;
  readonly stderr_base64?: string;
  readonly output?: JsonValue;
  /** How many bytes there are in all, where no message had room for them: the rest is in the journal. */
  readonly stdout_bytes?: number;
  readonly stderr_bytes?: number;
  readonly output_bytes?: number;
}

/** Where the signed record of the call is. */
export interface CallAttestation {
  readonly attestation_id: string;
  readonly execution_sha256: string;
  readonly executor: string;
  readonly sandbox_enforcement: string;
  readonly coverage: string;
  readonly policy_snapshot_sha256: string;
  readonly journal_seq: number;
}

/** Throws `client.protocol` when a part is missing. */
export function toToolCallResult({ runId, callId, attestation, ...ended }: ResultParts): ToolCallResult {
  if (attestation === undefined) throw incomplete();
  return { run_id: runId, call_id: callId, ...toCallEnd(ended), attestation: toAttestation(attestation) };
}

type ResultParts = Pick<WireResult, 'runId' | 'callId' | 'attestation'> & EndParts;
type EndParts = Pick<CallEnded, 'tool' | 'decision' | 'approval' | 'outcome'>;

/** Throws `client.protocol` when a part is missing. */
export function toCallEnd({
  tool,
  decision,
  approval,
  outcome,
}: EndParts): Omit<ToolCallResult, 'run_id' | 'call_id' | 'attestation'> {
  if (decision === undefined || outcome === undefined) throw incomplete();
  return {
    tool,
    decision: toDecision(decision),
    ...(approval === undefined ? {} : { approval: toApproval(approval) }),
    outcome: toOutcome(outcome),
  };
}

export function toDecision({ kind, policyIds, reasonCode, reason, fix }: Decision): CallDecision {
  return said<CallDecision>({
    kind: DECISIONS[kind] ?? 'deny',
    policy_ids: policyIds,
    reason_code: reasonCode,
    reason,
    fix: text(fix),
  });
}

export function toAttestation(attestation: Attestation): CallAttestation {
  return {
    attestation_id: attestation.attestationId,
    execution_sha256: attestation.executionSha256,
    executor: attestation.executor,
    sandbox_enforcement: attestation.sandboxEnforcement,
    coverage: attestation.coverage,
    policy_snapshot_sha256: attestation.policySnapshotSha256,
    journal_seq: number(attestation.journalSeq),
  };
}

export const DECISIONS: Readonly<Record<DecisionKind, CallDecision['kind'] | undefined>> = {
  [DecisionKind.UNSPECIFIED]: undefined,
  [DecisionKind.ALLOW]: 'allow',
  [DecisionKind.ASK]: 'ask',
  [DecisionKind.DENY]: 'deny',
};

export const OUTCOMES: Readonly<Record<OutcomeKind, CallOutcome['kind'] | undefined>> = {
  [OutcomeKind.UNSPECIFIED]: undefined,
  [OutcomeKind.COMPLETED]: 'completed',
  [OutcomeKind.FAILED]: 'failed',
  [OutcomeKind.REFUSED]: 'refused',
  [OutcomeKind.TIMED_OUT]: 'timed_out',
  [OutcomeKind.CANCELLED]: 'cancelled',
  [OutcomeKind.QUOTA_EXCEEDED]: 'quota_exceeded',
  [OutcomeKind.UNKNOWN_OUTCOME]: 'unknown_outcome',
};

export const APPROVAL_OUTCOMES: Readonly<Record<ApprovalOutcome, CallApproval['outcome'] | undefined>> = {
  [ApprovalOutcome.UNSPECIFIED]: undefined,
  [ApprovalOutcome.APPROVED]: 'approved',
  [ApprovalOutcome.DENIED]: 'denied',
  [ApprovalOutcome.EXPIRED]: 'expired',
  [ApprovalOutcome.CANCELLED]: 'cancelled',
  [ApprovalOutcome.PENDING]: 'pending',
};

export const SCOPES: Readonly<Record<ApprovalScope, ScopeName | undefined>> = {
  [ApprovalScope.UNSPECIFIED]: undefined,
  [ApprovalScope.ONCE]: 'once',
  [ApprovalScope.SESSION]: 'session',
  [ApprovalScope.TIMEBOXED]: 'timeboxed',
  [ApprovalScope.ALWAYS]: 'always',
};

export function toApproval({ id, outcome, scope, decidedBy, device, assurance }: Approval): CallApproval {
  return said<CallApproval>({
    id,
    // What a newer palyrad says and we do not know is no yes.
    outcome: APPROVAL_OUTCOMES[outcome] ?? 'pending',
    scope: SCOPES[scope],
    decided_by: text(decidedBy),
    device: text(device),
    assurance: text(assurance),
  });
}

function toOutcome(outcome: Outcome): CallOutcome {
  const printed = toPrinted(outcome);
  if (outcome.kind === OutcomeKind.COMPLETED) return { kind: 'completed', ...printed };
  const kind = OUTCOMES[outcome.kind];
  return said<UncompletedOutcome>({
    kind: kind === undefined || kind === 'completed' ? 'unknown_outcome' : kind,
    code: outcome.code,
    message: outcome.message,
    fix: text(outcome.fix),
    ...printed,
  });
}

function toPrinted({ exitCode, signal, stdout, stderr, outputJson, ...all }: Outcome): Printed {
  const isProcess = exitCode !== undefined || signal !== '';
  return said<Printed>({
    exit_code: exitCode,
    signal: text(signal),
    ...(isProcess || stdout.length > 0 ? toText('stdout', stdout) : {}),
    ...(isProcess || stderr.length > 0 ? toText('stderr', stderr) : {}),
    output: json(outputJson),
    stdout_bytes: bytesIfCut(all.stdoutBytes, stdout.length),
    stderr_bytes: bytesIfCut(all.stderrBytes, stderr.length),
    output_bytes: outputJson === '' ? bytesIfCut(all.outputJsonBytes, 0) : undefined,
  });
}

function bytesIfCut(all: bigint, told: number): number | undefined {
  return number(all) > told ? number(all) : undefined;
}

function toText(name: 'stdout' | 'stderr', bytes: Uint8Array): Partial<Printed> {
  try {
    return { [name]: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { [`${name}_base64`]: Buffer.from(bytes).toString('base64') };
  }
}

function incomplete(): ClientError {
  return new ClientError('client.protocol', 'palyrad told a result without all of its parts.');
}
