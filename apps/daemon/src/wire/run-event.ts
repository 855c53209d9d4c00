import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { OutputStream, type RunEventSchema } from '@palyra/api';
import type { Happening, RunEvent } from '../runs/run-event.ts';
import { errorDetail } from './error-detail.ts';
import { DECISIONS, wireApprovalOutcome, wireAttestation, wireCallEnded } from './tool-call-result.ts';

type WireEvent = MessageInitShape<typeof RunEventSchema>;

/** `room`: how many bytes of output a message takes. */
export function wireRunEvent({ sequence, time, call, happened }: RunEvent, room: number): WireEvent {
  return {
    sequence: BigInt(sequence),
    time: timestampFromMs(time),
    ...(call === undefined ? {} : { callId: call.id, callKey: call.key }),
    event: eventOf(happened, room),
  };
}

const STREAMS = { stdout: OutputStream.STDOUT, stderr: OutputStream.STDERR } as const;

function eventOf(happened: Happening, room: number): NonNullable<WireEvent['event']> {
  switch (happened.kind) {
    case 'run_started': {
      const { runId, session, workspace } = happened;
      const value = { runId, sessionId: session, workspaceId: workspace.id, workspaceRoot: workspace.root };
      return { case: 'runStarted', value };
    }
    case 'accepted':
      return { case: 'proposalAccepted', value: { tool: happened.tool } };
    case 'rejected':
      return { case: 'proposalRejected', value: { error: errorDetail(happened.error) } };
    case 'decided': {
      const { decision, policyIds, reasonCode, reason, fix = '' } = happened;
      return {
        case: 'decision',
        value: { kind: DECISIONS[decision], policyIds: [...policyIds], reasonCode, reason, fix },
      };
    }
    case 'approval_requested': {
      const { approvalId, expiresAt } = happened;
      return { case: 'approvalRequested', value: { approvalId, expiresAt: timestampFromMs(expiresAt) } };
    }
    case 'approval_decided': {
      const { approvalId, outcome } = happened;
      return { case: 'approvalDecided', value: { approvalId, outcome: wireApprovalOutcome(outcome) } };
    }
    case 'started':
      return { case: 'executionStarted', value: {} };
    case 'output': {
      const { stream, bytes, offset } = happened;
      const data = bytes as Uint8Array<ArrayBuffer>;
      return { case: 'output', value: { stream: STREAMS[stream], data, offset: BigInt(offset) } };
    }
    case 'result':
      return { case: 'result', value: wireCallEnded(happened.result, room) };
    case 'attestation':
      return { case: 'attestation', value: wireAttestation(happened.attestation) };
    case 'run_ended':
      return { case: 'runEnded', value: { outcome: happened.outcome, calls: happened.calls } };
  }
}
