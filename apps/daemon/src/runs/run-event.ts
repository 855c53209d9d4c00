import type { CallEvent, ToolCallResult, Workspace } from '@palyra/gateway';

/** Something that happened in a run, and where it stands in the order of what is told. */
export interface RunEvent {
  readonly sequence: number;
  readonly time: number;
  /** Of a call: which one. */
  readonly call?: CallName;
  readonly happened: Happening;
}

export interface CallName {
  readonly id: string;
  /** As the caller named it. */
  readonly key: string;
}

export type Happening =
  | {
      readonly kind: 'run_started';
      readonly runId: string;
      readonly session: string;
      readonly workspace: Workspace;
    }
  | { readonly kind: 'accepted'; readonly tool: string }
  /** Nothing of it is on record, or its end could not be recorded. */
  | { readonly kind: 'rejected'; readonly error: unknown }
  | Extract<CallEvent, { readonly kind: 'decided' | 'approval_requested' | 'approval_decided' | 'started' }>
  | {
      readonly kind: 'output';
      readonly stream: 'stdout' | 'stderr';
      readonly bytes: Uint8Array;
      /** Of the first byte within its stream. */
      readonly offset: number;
    }
  | { readonly kind: 'result'; readonly result: ToolCallResult }
  | { readonly kind: 'attestation'; readonly attestation: ToolCallResult['attestation'] }
  | { readonly kind: 'run_ended'; readonly outcome: string; readonly calls: number };

/** A result and its attestation, which follows it directly. */
export function endOfCall(result: ToolCallResult): readonly [Happening, Happening] {
  return [
    { kind: 'result', result },
    { kind: 'attestation', attestation: result.attestation },
  ];
}
