import { OutputStream, type RunEvent as WireEvent } from '@palyra/api';
import { number, said, text, time } from '../wire/plain.ts';
import {
  APPROVAL_OUTCOMES,
  type CallApproval,
  type CallAttestation,
  type CallDecision,
  type ToolCallResult,
  toAttestation,
  toCallEnd,
  toDecision,
} from './tool-call-result.ts';

/** Something that happened in a run, in the order of the life of a call. */
export type RunEvent = EventPlace & Happening;

export interface EventPlace {
  /** Grows within the run, and is never given twice: what to resume after. */
  readonly sequence: number;
  readonly time?: string;
  /** Of events of a call. */
  readonly call_id?: string;
  /** The key under which the call was proposed. */
  readonly key?: string;
}

export type Happening =
  | {
      readonly kind: 'run_started';
      readonly run_id: string;
      readonly session_id: string;
      readonly workspace_id: string;
      readonly workspace_root: string;
    }
  | { readonly kind: 'proposal_accepted'; readonly tool: string }
  /** Nothing of it ran or is on record. */
  | { readonly kind: 'proposal_rejected'; readonly error: { code: string; message: string; fix?: string } }
  | { readonly kind: 'decision'; readonly decision: CallDecision }
  | { readonly kind: 'approval_requested'; readonly approval_id: string; readonly expires_at?: string }
  | {
      readonly kind: 'approval_decided';
      readonly approval_id: string;
      readonly outcome: CallApproval['outcome'];
    }
  | { readonly kind: 'execution_started' }
  | ({ readonly kind: 'output' } & Output)
  | ({ readonly kind: 'result' } & Omit<ToolCallResult, 'run_id' | 'call_id' | 'attestation'>)
  | { readonly kind: 'attestation'; readonly attestation: CallAttestation }
  | { readonly kind: 'run_ended'; readonly outcome: string; readonly calls: number };

export interface Output {
  readonly stream: 'stdout' | 'stderr';
  /** Secrets masked. */
  readonly data: Uint8Array;
  /** Of the first byte within its stream. */
  readonly offset: number;
}

/** Undefined for what only a newer SDK knows. Throws `client.protocol`. */
export function toRunEvent(wire: WireEvent): RunEvent | undefined {
  const happening = toHappening(wire.event);
  if (happening === undefined) return undefined;
  const place = said<EventPlace>({
    sequence: number(wire.sequence),
    time: time(wire.time),
    call_id: text(wire.callId),
    key: text(wire.callKey),
  });
  return { ...place, ...happening };
}

function toHappening({ case: name, value }: WireEvent['event']): Happening | undefined {
  switch (name) {
    case 'runStarted': {
      const { runId, sessionId, workspaceId, workspaceRoot } = value;
      const ids = { run_id: runId, session_id: sessionId };
      return { kind: 'run_started', ...ids, workspace_id: workspaceId, workspace_root: workspaceRoot };
    }
    case 'proposalAccepted':
      return { kind: 'proposal_accepted', tool: value.tool };
    case 'proposalRejected': {
      const { code = 'client.protocol', message = 'palyrad did not take the call.', fix = '' } = value.error ?? {};
      return { kind: 'proposal_rejected', error: { code, message, ...(fix === '' ? {} : { fix }) } };
    }
    case 'decision':
      return { kind: 'decision', decision: toDecision(value) };
    case 'approvalRequested': {
      const until = time(value.expiresAt);
      const asked = { kind: 'approval_requested', approval_id: value.approvalId } as const;
      return until === undefined ? asked : { ...asked, expires_at: until };
    }
    case 'approvalDecided': {
      const outcome = APPROVAL_OUTCOMES[value.outcome] ?? 'pending';
      return { kind: 'approval_decided', approval_id: value.approvalId, outcome };
    }
    case 'executionStarted':
      return { kind: 'execution_started' };
    case 'output': {
      const stream = value.stream === OutputStream.STDERR ? 'stderr' : 'stdout';
      return { kind: 'output', stream, data: value.data, offset: number(value.offset) };
    }
    case 'result':
      return { kind: 'result', ...toCallEnd(value) };
    case 'attestation':
      return { kind: 'attestation', attestation: toAttestation(value) };
    case 'runEnded':
      return { kind: 'run_ended', outcome: value.outcome, calls: value.calls };
    case undefined:
      return undefined;
  }
}
