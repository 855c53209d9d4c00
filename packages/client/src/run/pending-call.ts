import { ClientError } from '../client-error.ts';
import type { AttachedInput } from './attached-input.ts';
import type { Output, RunEvent } from './run-event.ts';
import type { ToolCallResult } from './tool-call-result.ts';

export interface CallOptions {
  /** Names the call within the run: the same key again is answered and never run again. Random unless told. */
  readonly key?: string;
  /** Why the agent wants this. Shown to people; decides nothing. */
  readonly says?: string;
  /** What the caller has read that it should not trust. */
  readonly taints?: readonly string[];
  /** Cancels the call; its result says how far it came. */
  readonly signal?: AbortSignal;
  /** Standard input, terminal size and signals, for tools that take them. When some of it may be lost with a connection, the call is cancelled. */
  readonly input?: AsyncIterable<AttachedInput>;
  /** As it comes. Nothing more is read for the run until it resolves. What it throws cancels the call. */
  onOutput?(output: CallOutput): void | Promise<void>;
  /** Every event of the call, once. As `onOutput`. */
  onEvent?(event: RunEvent): void | Promise<void>;
}

export interface CallOutput extends Output {
  /** Bytes before these that were not kept for us. */
  readonly missed: number;
}

/** One call between its proposal and its attestation. */
export interface PendingCall {
  readonly result: Promise<ToolCallResult>;
  readonly isAccepted: boolean;
  /** Only its attestation is missing. */
  readonly hasEnded: boolean;
  /** `isNew` is false for what was told before. Undefined when no callback is to be waited for; rejects with what one throws. */
  hear(event: RunEvent, isNew: boolean): Promise<void> | undefined;
  fail(error: unknown): void;
}

export function createPendingCall(
  runId: () => string,
  { onOutput, onEvent }: Pick<CallOptions, 'onOutput' | 'onEvent'>,
): PendingCall {
  const settled = Promise.withResolvers<ToolCallResult>();
  // Whoever called awaits it as well; a run that fails must not end the process through this one.
  settled.promise.catch(() => undefined);
  const received = { stdout: 0, stderr: 0 };
  let ended: Extract<RunEvent, { kind: 'result' }> | undefined;
  let isAccepted = false;

  async function hearOutput({ stream, data, offset }: Output): Promise<void> {
    const from = received[stream];
    // Told again after a reconnect, whole or in part.
    const fresh = data.subarray(Math.max(0, from - offset));
    if (fresh.length === 0) return;
    received[stream] = offset + data.length;
    await onOutput?.({ stream, data: fresh, offset: Math.max(offset, from), missed: Math.max(0, offset - from) });
  }
  function attested(event: Extract<RunEvent, { kind: 'attestation' }>): void {
    if (ended === undefined) return;
    const { tool, decision, approval, outcome, call_id = '' } = ended;
    const parts = { tool, decision, ...(approval === undefined ? {} : { approval }), outcome };
    settled.resolve({ run_id: runId(), call_id, ...parts, attestation: event.attestation });
  }
  function take(event: RunEvent): undefined {
    if (event.kind === 'proposal_accepted') isAccepted = true;
    if (event.kind === 'proposal_rejected') settled.reject(toError(event.error));
    if (event.kind === 'result') ended ??= event;
    if (event.kind === 'attestation') attested(event);
  }
  async function tellAbout(event: RunEvent, isNew: boolean): Promise<void> {
    if (event.kind === 'output') await hearOutput(event);
    if (isNew) await onEvent?.(event);
    take(event);
  }
  return {
    result: settled.promise,
    get isAccepted() {
      return isAccepted;
    },
    get hasEnded() {
      return ended !== undefined;
    },
    hear(event, isNew) {
      if (event.kind !== 'output' && onEvent === undefined) return take(event);
      return tellAbout(event, isNew);
    },
    fail: settled.reject,
  };
}

function toError({ code, message, fix }: { code: string; message: string; fix?: string }): ClientError {
  return new ClientError(code, message, fix === undefined ? {} : { fix });
}
