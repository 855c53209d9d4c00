import { canonicalJson, type JsonValue } from '@palyra/primitives';
import { ClientError } from '../client-error.ts';
import { isLost, translateError } from '../connection/translate-error.ts';
import { type AttachedInput, createInputPump, type InputPump, type WireInput } from './attached-input.ts';
import { type CallOptions, createPendingCall, type PendingCall } from './pending-call.ts';
import type { RunEvent } from './run-event.ts';
import type { RunMessage, RunStream } from './run-stream.ts';
import type { ToolCallResult } from './tool-call-result.ts';

export interface OpenCallsDeps {
  readonly stream: Pick<RunStream, 'tell'>;
  runId(): string;
  newKey(): string;
  /** Resolves when palyrad took it. Not on the stream: what is said there later must not wait for a tool that does not read. */
  feed(key: string, input: WireInput): Promise<unknown>;
  /** Cancels by another way than the stream, if palyrad has such a call. */
  cancelElsewhere(key: string): void;
  /** Asks for the answer of a call that was told on this stream before. */
  callElsewhere(proposal: Proposal): Promise<ToolCallResult>;
}

/** The calls of a run that have no answer yet, by their keys. */
export interface OpenCalls {
  /** Throws `ClientError`, and what a callback throws. */
  propose(tool: string, input: JsonValue, options: CallOptions): Promise<ToolCallResult>;
  /** Undefined when nobody has to be waited for. */
  hear(event: RunEvent, isNew: boolean): Promise<void> | undefined;
  /** What a new connection has to say about them. */
  sayAgain(): readonly RunMessage[];
  fail(error: ClientError): void;
  isIdle(): boolean;
}

interface OpenCall {
  readonly key: string;
  readonly proposal: Proposal;
  readonly pending: PendingCall;
  readonly pump: InputPump | undefined;
  isCancelled: boolean;
}

export type Proposal = Extract<RunMessage, { case: 'propose' }>;

export function createOpenCalls(deps: OpenCallsDeps): OpenCalls {
  const { stream } = deps;
  const calls = new Map<string, OpenCall>();
  /** A result is told once on a stream: whoever asks for it again has to ask elsewhere. */
  const told = new Set<string>();

  function open(proposal: Proposal, key: string, options: CallOptions): OpenCall {
    const pending = createPendingCall(deps.runId, options);
    const pump = options.input === undefined ? undefined : attach(key, options.input);
    const call: OpenCall = { key, proposal, pending, pump, isCancelled: false };
    calls.set(key, call);
    return call;
  }
  function attach(key: string, input: AsyncIterable<AttachedInput>): InputPump {
    const withCall = (act: (call: OpenCall) => void): void => {
      const call = calls.get(key);
      if (call !== undefined) act(call);
    };
    return createInputPump({
      input,
      feed: (item) => deps.feed(key, item),
      failed: (error) => withCall((call) => abandon(call, error)),
      // A tool that goes on with a part of its input is worse than one that ends.
      missing: (error) => withCall((call) => (isLost(translateError(error)) ? cancel(call) : abandon(call, error))),
    });
  }
  function cancel(call: OpenCall): void {
    call.isCancelled = true;
    call.pump?.stop();
    stream.tell(cancelMessage(call.key));
  }
  function abandon(call: OpenCall, error: unknown): void {
    call.pending.fail(error);
    cancel(call);
  }
  return {
    async propose(tool, input, options) {
      if (options.signal?.aborted === true) throw cancelled();
      const key = options.key ?? deps.newKey();
      const proposal = toProposal({ key, tool, input }, options);
      if (calls.has(key)) throw keyInUse();
      if (told.has(key)) return deps.callElsewhere(proposal);

      const call = open(proposal, key, options);
      const onAbort = (): void => cancel(call);
      options.signal?.addEventListener('abort', onAbort, { once: true });
      stream.tell(proposal);
      try {
        return await call.pending.result;
      } finally {
        options.signal?.removeEventListener('abort', onAbort);
        call.pump?.stop();
        calls.delete(key);
      }
    },
    hear(event, isNew) {
      if (event.kind === 'result') told.add(event.key ?? '');
      const call = calls.get(event.key ?? '');
      if (call === undefined) return undefined;
      const go = () => {
        if (call.pending.isAccepted) call.pump?.start();
      };
      const heard = call.pending.hear(event, isNew);
      if (heard !== undefined) return heard.then(go).catch((thrown: unknown) => abandon(call, thrown));
      go();
      return undefined;
    },
    sayAgain() {
      return [...calls.values()].flatMap((call): readonly RunMessage[] => {
        // Its attestation comes without being asked for.
        if (call.pending.hasEnded) return [];
        // By its key palyrad knows it, answers, and runs nothing twice.
        if (!call.isCancelled) return [call.proposal];
        if (call.pending.isAccepted) return [call.proposal, cancelMessage(call.key)];
        // Whether palyrad ever got it is not known, and to propose it only to cancel it might run it.
        deps.cancelElsewhere(call.key);
        call.pending.fail(cancelled());
        return [];
      });
    },
    fail(error) {
      for (const { pending, pump } of calls.values()) {
        pump?.stop();
        pending.fail(error);
      }
    },
    isIdle: () => calls.size === 0,
  };
}

interface ProposedCall {
  readonly key: string;
  readonly tool: string;
  readonly input: JsonValue;
}

function toProposal({ key, tool, input }: ProposedCall, { says = '', taints = [] }: CallOptions): Proposal {
  return { case: 'propose', value: { key, tool, inputJson: toJson(input), agentSays: says, taints: [...taints] } };
}

function toJson(input: JsonValue): string {
  try {
    return canonicalJson(input);
  } catch (cause) {
    throw new ClientError('client.invalid_input', 'The input of the call is no JSON value.', {
      fix: 'Give plain objects, arrays, texts, finite numbers, booleans and null.',
      cause,
    });
  }
}

function cancelMessage(key: string): RunMessage {
  return { case: 'cancelCall', value: { key } };
}

function cancelled(): ClientError {
  return new ClientError('client.cancelled', 'The call was cancelled before palyrad said that it has it.', {
    fix: 'Look at the run if it matters how far it came: `palyra runs show`.',
  });
}

function keyInUse(): ClientError {
  return new ClientError('client.key_in_use', 'Another call of this run has the same key and is under way.', {
    fix: 'Wait for it, or give every call a key of its own.',
  });
}
