import type { Client as RpcClient } from '@connectrpc/connect';
import { RunService, type RunEvent as WireEvent } from '@palyra/api';
import type { JsonValue } from '@palyra/primitives';
import { ClientError, clientClosed } from '../client-error.ts';
import type { MessageExchange } from '../connection/open-channel.ts';
import { translateError } from '../connection/translate-error.ts';
import { askAgain, type StreamDeps } from '../connection/watch-again.ts';
import { createOpenCalls } from './open-calls.ts';
import type { CallOptions } from './pending-call.ts';
import { type RunEvent, toRunEvent } from './run-event.ts';
import { createRunStream, type RunMessage } from './run-stream.ts';
import { type ToolCallResult, toToolCallResult } from './tool-call-result.ts';
import { type WatchOptions, watchRun } from './watch-run.ts';

/**
 * One run: calls that share a workspace, a session and a budget. Leaving its scope (`await using`) ends it, or cancels it when a
 * call is still under way: whoever leaves does not wait for it any more.
 */
export interface Run extends AsyncDisposable {
  readonly id: string;
  /** Standing approvals may belong to it; a later run can go on with it. */
  readonly session: string;
  /** Of the last event that was heard: what `resumeRun` takes. */
  readonly sequence: number;
  /**
   * Proposes a call and resolves when it is attested, refused ones included. Throws `ClientError` when palyrad does not take
   * it, when it cannot be reached for too long, and when the run is over.
   */
  call(tool: string, input: JsonValue, options?: CallOptions): Promise<ToolCallResult>;
  /** Everything that happens in the run from its beginning on, or after some event, until it ends. */
  events(options?: WatchOptions): AsyncIterable<RunEvent>;
  /** Cancels the run and everything in it. */
  cancel(): Promise<void>;
  /** Ends the run once its calls have ended. */
  end(): Promise<void>;
}

/** When the client is closed the run goes on at palyrad, and can be resumed. */
export interface RunDeps extends StreamDeps {
  readonly rpc: RpcClient<typeof RunService>;
  readonly exchange: MessageExchange;
  newKey(): string;
}

export type RunBeginning =
  | { readonly kind: 'start'; readonly workspace: string; readonly session: string; readonly surface: string }
  | { readonly kind: 'resume'; readonly id: string; readonly session: string; readonly after: bigint };

/** Resolves when palyrad has the run. Throws `ClientError`. */
export async function openRun(beginning: RunBeginning, deps: RunDeps): Promise<Run> {
  const life = liveRun(beginning, deps);
  const { id, session } = await life.started;
  return {
    id,
    session,
    get sequence() {
      return Number(life.cursor());
    },
    call: life.call,
    events: (options = {}) => watchRun(id, options, deps),
    cancel: () => life.finish('cancelling'),
    end: () => life.finish('ending'),
    async [Symbol.asyncDispose]() {
      // What ran is on record; of a palyrad that is gone, nothing more is to be had.
      await life.finish(life.isIdle() ? 'ending' : 'cancelling').catch(() => undefined);
    },
  };
}

interface Place {
  readonly id: string;
  readonly session: string;
}

interface RunLife {
  readonly started: Promise<Place>;
  cursor(): bigint;
  call(tool: string, input: JsonValue, options?: CallOptions): Promise<ToolCallResult>;
  finish(how: 'ending' | 'cancelling'): Promise<void>;
  isIdle(): boolean;
}

function liveRun(beginning: RunBeginning, deps: RunDeps): RunLife {
  const { rpc, signal } = deps;
  const started = Promise.withResolvers<Place>();
  const over = Promise.withResolvers<void>();
  over.promise.catch(() => undefined);
  let place: Place | undefined = beginning.kind === 'resume' ? beginning : undefined;
  let cursor = beginning.kind === 'resume' ? beginning.after : 0n;
  let state: 'open' | 'ending' | 'cancelling' | 'over' = 'open';
  if (place !== undefined) started.resolve(place);

  const stream = createRunStream({
    signal,
    reconnect: deps.createReconnect(),
    connect: deps.connect,
    open: (requests) => deps.exchange({ method: RunService.method.runStream, requests, signal }),
    opening: () => [firstMessage(beginning, place, cursor), ...calls.sayAgain(), ...LAST_MESSAGES[state]],
    hear,
    isWorthKeeping: () => place !== undefined,
  });
  const calls = createOpenCalls({
    stream,
    runId: () => place?.id ?? '',
    newKey: deps.newKey,
    feed: (key, input) => rpc.feedCall({ runId: place?.id ?? '', input: { key, input } }, { signal }),
    cancelElsewhere(key) {
      // Nobody waits for it: what becomes of the call is told on the stream.
      rpc.cancelCall({ runId: place?.id ?? '', key }, { signal }).catch(() => undefined);
    },
    async callElsewhere({ value: proposal }) {
      const { result } = await askAgain(() => rpc.callTool({ runId: place?.id ?? '', proposal }, { signal }), deps);
      if (result === undefined) throw new ClientError('client.protocol', 'palyrad told no result.');
      return toToolCallResult(result);
    },
  });
  function hear(wire: WireEvent): Promise<boolean> | boolean {
    const isNew = wire.sequence > cursor;
    if (isNew) cursor = wire.sequence;
    const event = toRunEvent(wire);
    if (event === undefined) return false;
    if (event.kind === 'run_started') {
      place ??= { id: event.run_id, session: event.session_id };
      started.resolve(place);
    }
    const isLast = event.kind === 'run_ended';
    const heard = calls.hear(event, isNew);
    return heard === undefined ? isLast : heard.then(() => isLast);
  }
  function settle(error: ClientError | undefined): void {
    const isEnded = error === undefined || (state !== 'open' && ENDED.has(error.code));
    state = 'over';
    const told = signal.aborted ? clientClosed() : (error ?? runOver());
    calls.fail(told);
    started.reject(told);
    if (isEnded) over.resolve();
    else over.reject(told);
  }
  stream.keep().then(
    () => settle(undefined),
    (thrown: unknown) => settle(translateError(thrown)),
  );
  return {
    started: started.promise,
    cursor: () => cursor,
    async call(tool, input, options = {}) {
      if (signal.aborted) throw clientClosed();
      if (state !== 'open') throw runOver();
      return calls.propose(tool, input, options);
    },
    async finish(how) {
      if (state === 'open' || (state === 'ending' && how === 'cancelling')) {
        state = how;
        for (const message of LAST_MESSAGES[how]) stream.tell(message);
      }
      await over.promise;
    },
    isIdle: () => calls.isIdle(),
  };
}

const LAST_MESSAGES: Readonly<Record<'open' | 'ending' | 'cancelling' | 'over', readonly RunMessage[]>> = {
  open: [],
  ending: [{ case: 'endRun', value: {} }],
  cancelling: [{ case: 'cancelRun', value: {} }],
  over: [],
};

/** What palyrad says of a run that it was told to end, on a connection after the one that told it. */
const ENDED: ReadonlySet<string> = new Set(['gateway.run_ended', 'gateway.run_not_found']);

function firstMessage(beginning: RunBeginning, place: Place | undefined, afterSequence: bigint): RunMessage {
  if (place !== undefined) return { case: 'resume', value: { runId: place.id, afterSequence } };
  const { workspace, session, surface } =
    beginning.kind === 'start' ? beginning : { workspace: '', session: '', surface: '' };
  return { case: 'start', value: { workspace, sessionId: session, surface } };
}

function runOver(): ClientError {
  return new ClientError('client.run_over', 'The run is over, and takes no more calls.', { fix: 'Start another one.' });
}
