import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  ApprovalOutcome,
  type ApprovalSchema,
  ApprovalScope,
  type AttestationSchema,
  DecisionKind,
  type DecisionSchema,
  OutcomeKind,
  type OutcomeSchema,
  type ToolCallResultSchema,
} from '@palyra/api';
import type { ToolCallResult } from '@palyra/gateway';

/** `room`: how many bytes of output a message takes. */
export function wireToolCallResult(
  result: ToolCallResult,
  room: number,
): MessageInitShape<typeof ToolCallResultSchema> {
  return {
    runId: result.run_id,
    callId: result.call_id,
    ...wireCallEnded(result, room),
    attestation: wireAttestation(result.attestation),
  };
}

interface CallEnded {
  readonly tool: string;
  readonly decision: MessageInitShape<typeof DecisionSchema>;
  readonly approval?: MessageInitShape<typeof ApprovalSchema>;
  readonly outcome: MessageInitShape<typeof OutcomeSchema>;
}

/** Everything of a call but its attestation. */
export function wireCallEnded({ tool, decision, approval, outcome }: ToolCallResult, room: number): CallEnded {
  return {
    tool,
    decision: {
      kind: DECISIONS[decision.kind],
      policyIds: [...decision.policy_ids],
      reasonCode: decision.reason_code,
      reason: decision.reason,
      fix: decision.fix ?? '',
    },
    ...(approval === undefined ? {} : { approval: wireApproval(approval) }),
    outcome: wireOutcome(outcome, room),
  };
}

export const DECISIONS: Readonly<Record<ToolCallResult['decision']['kind'], DecisionKind>> = {
  allow: DecisionKind.ALLOW,
  ask: DecisionKind.ASK,
  deny: DecisionKind.DENY,
};

export function wireApproval(
  approval: NonNullable<ToolCallResult['approval']>,
): MessageInitShape<typeof ApprovalSchema> {
  const { id, outcome, scope, decided_by: decidedBy = '', device = '', assurance = '' } = approval;
  return { id, outcome: wireApprovalOutcome(outcome), scope: wireScope(scope), decidedBy, device, assurance };
}

const APPROVAL_OUTCOMES: Readonly<Record<string, ApprovalOutcome>> = {
  approved: ApprovalOutcome.APPROVED,
  denied: ApprovalOutcome.DENIED,
  expired: ApprovalOutcome.EXPIRED,
  cancelled: ApprovalOutcome.CANCELLED,
  // A rule answered it, or it will be asked anew.
  superseded: ApprovalOutcome.CANCELLED,
  pending: ApprovalOutcome.PENDING,
  parked: ApprovalOutcome.PENDING,
};

export function wireApprovalOutcome(outcome: string): ApprovalOutcome {
  return APPROVAL_OUTCOMES[outcome] ?? ApprovalOutcome.UNSPECIFIED;
}

const SCOPES: Readonly<Record<string, ApprovalScope>> = {
  once: ApprovalScope.ONCE,
  session: ApprovalScope.SESSION,
  timeboxed: ApprovalScope.TIMEBOXED,
  always: ApprovalScope.ALWAYS,
};

export function wireScope(scope: string | undefined): ApprovalScope {
  return SCOPES[scope ?? ''] ?? ApprovalScope.UNSPECIFIED;
}

export const OUTCOMES: Readonly<Record<ToolCallResult['outcome']['kind'], OutcomeKind>> = {
  completed: OutcomeKind.COMPLETED,
  failed: OutcomeKind.FAILED,
  refused: OutcomeKind.REFUSED,
  timed_out: OutcomeKind.TIMED_OUT,
  cancelled: OutcomeKind.CANCELLED,
  quota_exceeded: OutcomeKind.QUOTA_EXCEEDED,
  unknown_outcome: OutcomeKind.UNKNOWN_OUTCOME,
};

function wireOutcome(outcome: ToolCallResult['outcome'], room: number): MessageInitShape<typeof OutcomeSchema> {
  const { kind, code = '', message = '', fix = '', exit_code: exitCode, signal = '', output } = outcome;
  return {
    kind: OUTCOMES[kind],
    code,
    message,
    fix,
    ...(exitCode === undefined ? {} : { exitCode }),
    signal,
    ...wireOutput(
      {
        stdout: bytesOf(outcome.stdout, outcome.stdout_base64),
        stderr: bytesOf(outcome.stderr, outcome.stderr_base64),
        json: output === undefined ? '' : JSON.stringify(output),
      },
      room,
    ),
  };
}

interface PutOut {
  readonly stdout: Uint8Array<ArrayBuffer>;
  readonly stderr: Uint8Array<ArrayBuffer>;
  readonly json: string;
}

/** A result that is too large for a message would never arrive, however often it is asked for. */
function wireOutput({ stdout, stderr, json }: PutOut, room: number) {
  const jsonBytes = Buffer.byteLength(json);
  const outputJson = jsonBytes <= room ? json : '';
  const left = room - (outputJson === '' ? 0 : jsonBytes);
  // Errors are few, and what somebody looks for.
  const shownErrors = stderr.subarray(0, Math.max(Math.floor(left / 2), left - stdout.length));
  const shownOutput = stdout.subarray(0, left - shownErrors.length);
  return {
    stdout: shownOutput,
    stderr: shownErrors,
    outputJson,
    stdoutBytes: BigInt(stdout.length),
    stderrBytes: BigInt(stderr.length),
    outputJsonBytes: BigInt(jsonBytes),
  };
}

function bytesOf(text: string | undefined, base64: string | undefined): Uint8Array<ArrayBuffer> {
  return new Uint8Array(base64 === undefined ? Buffer.from(text ?? '') : Buffer.from(base64, 'base64'));
}

export function wireAttestation(
  attestation: ToolCallResult['attestation'],
): MessageInitShape<typeof AttestationSchema> {
  return {
    attestationId: attestation.attestation_id,
    executionSha256: attestation.execution_sha256,
    executor: attestation.executor,
    sandboxEnforcement: attestation.sandbox_enforcement,
    coverage: attestation.coverage,
    policySnapshotSha256: attestation.policy_snapshot_sha256,
    journalSeq: BigInt(attestation.journal_seq),
  };
}
