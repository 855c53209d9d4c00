import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type CallSummarySchema,
  DecisionKind,
  type GetCallResponseSchema,
  OutcomeKind,
  type RunSummarySchema,
  ToolCallResultSchema,
} from '@palyra/api';
import type { BodyView, CallLine, CallPage, RunView, SaidApproval, ToolCallResult } from '@palyra/gateway';
import { visibleText } from '@palyra/primitives';
import { optionalTimestamp } from './timestamp.ts';
import { DECISIONS, OUTCOMES, wireApproval, wireToolCallResult } from './tool-call-result.ts';

export function wireRunSummary(run: RunView): MessageInitShape<typeof RunSummarySchema> {
  const endedAt = optionalTimestamp(run.endedAt);
  return {
    runId: run.id,
    sessionId: run.session,
    principal: run.principal,
    workspaceRoot: run.workspaceRoot,
    state: run.state,
    calls: run.calls,
    refused: run.refused,
    startedAt: timestampFromMs(run.startedAt),
    ...(endedAt === undefined ? {} : { endedAt }),
  };
}

const MOST_SHOWN = 200;

export function wireCallSummary(call: CallLine): MessageInitShape<typeof CallSummarySchema> {
  return {
    callId: call.callId,
    tool: call.tool,
    // SECURITY: T-08 — an agent wrote it: nothing in it moves a cursor or hides.
    summary: visibleText(call.about ?? '', { maxCharacters: MOST_SHOWN }),
    ...(call.approval === null ? {} : { approval: wireApproval(approvalOf(call.approval)) }),
    decision: call.decision === null ? DecisionKind.UNSPECIFIED : DECISIONS[call.decision],
    outcome: outcomeKind(call.state),
    code: call.code ?? '',
    proposedAt: timestampFromMs(call.proposedAt),
    tookMs: BigInt(Math.max(0, (call.endedAt ?? call.proposedAt) - call.proposedAt)),
  };
}

/** Unspecified while it waits or runs. */
function outcomeKind(state: string): OutcomeKind {
  return (OUTCOMES as Readonly<Record<string, OutcomeKind>>)[state] ?? OutcomeKind.UNSPECIFIED;
}

/** `room`: how many bytes of content a message takes. */
export function wireCallPage(page: CallPage, room: number): MessageInitShape<typeof GetCallResponseSchema> {
  const record = JSON.stringify(recordOf(page));
  const input = page.input.kind === 'kept' ? page.input.text : '';
  // The proof first, then what was proposed, then what was put out.
  const recordJson = record.length <= room ? record : JSON.stringify({ too_large: record.length });
  const inputJson = input.length + recordJson.length <= room ? input : '';
  const left = Math.max(0, room - recordJson.length - inputJson.length);
  const result = create(ToolCallResultSchema, wireToolCallResult(resultOf(page), left));
  // While it is not over nobody knows how it ends.
  if (page.outcome === null) delete result.outcome;
  return {
    result,
    principal: page.run.principal,
    inputJson,
    recordJson,
    proposedAt: timestampFromMs(page.proposedAt),
  };
}

function resultOf(page: CallPage): ToolCallResult {
  const { decisions, approval, outcome, attestation } = page;
  const decision = decisions.at(-1);
  const statement = attestation?.statement;
  return {
    run_id: page.run.id,
    call_id: page.callId,
    tool: page.tool,
    decision: {
      kind: decision?.kind ?? 'deny',
      policy_ids: (decision?.policies ?? []).map(({ id }) => id),
      reason_code: decision?.reasonCode ?? '',
      reason: (decision?.policies ?? []).flatMap(({ reason }) => reason ?? []).join(' '),
    },
    ...(approval === null ? {} : { approval: approvalOf(approval) }),
    outcome: {
      kind: outcome?.kind ?? 'unknown_outcome',
      ...(typeof outcome?.code === 'string' ? { code: outcome.code } : {}),
      ...(typeof outcome?.exitCode === 'number' ? { exit_code: outcome.exitCode } : {}),
      ...putOut(outcome?.output ?? null),
    },
    attestation: {
      attestation_id: attestation?.id ?? '',
      execution_sha256: statement?.execution_sha256 ?? '',
      executor: statement?.executor ?? '',
      sandbox_enforcement: statement?.sandbox_enforcement ?? '',
      coverage: statement?.coverage ?? page.run.coverage,
      policy_snapshot_sha256: statement?.policy_snapshot_sha256 ?? '',
      journal_seq: attestation?.seq ?? 0,
    },
  };
}

function approvalOf(approval: SaidApproval): NonNullable<ToolCallResult['approval']> {
  const { id, outcome, scope, decidedBy, device, assurance } = approval;
  return {
    id,
    outcome: outcome as NonNullable<ToolCallResult['approval']>['outcome'],
    ...(scope === null ? {} : { scope }),
    ...(decidedBy === null ? {} : { decided_by: decidedBy }),
    ...(device === null ? {} : { device }),
    ...(assurance === null ? {} : { assurance }),
  };
}

/** What is kept of it, in the shape in which it was told; nothing when it was erased or cut. */
function putOut(output: BodyView | null): Partial<ToolCallResult['outcome']> {
  if (output?.kind !== 'kept') return {};
  try {
    return Object(JSON.parse(output.text)) as Partial<ToolCallResult['outcome']>;
  } catch {
    return {};
  }
}

/** What `palyra why` shows beside the result. */
function recordOf({ decisions, approval, connections, intent, attestation, parentCallId, seq }: CallPage): object {
  const statement = attestation?.statement;
  return {
    policies: (decisions.at(-1)?.policies ?? []).map(({ id, text, file, line }) => ({ id, text, file, line })),
    ...(parentCallId === null ? {} : { parent_call_id: parentCallId }),
    ...(approval === null ? {} : { bound: approval.bound, not_bound: approval.notBound }),
    ...(connections.length === 0 ? {} : { connections: connections.map(connectionOf) }),
    ...(intent?.plan.kind === 'kept' ? { plan: parsed(intent.plan.text) } : {}),
    ...(statement === null || statement === undefined ? {} : { attestation: statement }),
    journal: { proposal: seq, ...(attestation === null ? {} : { attestation: attestation.seq }) },
  };
}

function connectionOf({ seq, target, policyIds, approvalId }: CallPage['connections'][number]): object {
  return {
    ...(target.kind === 'kept' ? { target: target.text } : {}),
    policy_ids: policyIds,
    ...(approvalId === null ? {} : { approval_id: approvalId }),
    journal: seq,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
