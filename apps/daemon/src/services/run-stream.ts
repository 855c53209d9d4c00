import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { type RunService, type RunStreamRequest, RunStreamResponseSchema } from '@palyra/api';
import { type Gateway, GatewayError, type Run } from '@palyra/gateway';
import { parseId } from '@palyra/primitives';
import { peerOf } from '../interceptors/peer-context.ts';
import type { RunEvents } from '../runs/read-events.ts';
import type { RunHub } from '../runs/run-hub.ts';
import type { Attendance, RunHubs } from '../runs/run-hubs.ts';
import { invalid, proposalOf, sentInputOf } from '../wire/proposal.ts';
import { knownRun } from './known-run.ts';
import { type Told, tellEvents } from './tell-events.ts';

export interface RunStreamDeps {
  readonly gateway: Pick<Gateway, 'run'>;
  readonly hubs: RunHubs;
  /** How many bytes of output a message takes. */
  readonly room: number;
  start(
    context: HandlerContext,
    request: { readonly workspace: string; readonly sessionId: string; readonly surface: string },
  ): Promise<Run>;
  /** Throws as the gateway's `resumeRun` does. */
  resume(context: HandlerContext, runId: string): Promise<Run>;
}

/**
 * A whole run on one stream. What happens is told as it happens; what is said is done in the order in which it is said. A
 * caller that is gone cancels nothing: whoever comes back with the last number it has goes on from there.
 */
export function createRunStream(deps: RunStreamDeps): ServiceImpl<typeof RunService>['runStream'] {
  return (requests, context) => new ToldRun(requests[Symbol.asyncIterator](), context, deps);
}

/** A class: thousands of them stand idle, and an async generator takes more memory than the run. */
class ToldRun implements AsyncIterableIterator<Told, void, undefined> {
  readonly #messages: AsyncIterator<RunStreamRequest>;
  readonly #context: HandlerContext;
  readonly #deps: RunStreamDeps;
  #told: AsyncIterableIterator<Told, void, undefined> | undefined;
  #here: Attendance | undefined;
  #failure: Error | undefined;

  constructor(messages: AsyncIterator<RunStreamRequest>, context: HandlerContext, deps: RunStreamDeps) {
    this.#messages = messages;
    this.#context = context;
    this.#deps = deps;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Told, void>> {
    if (this.#told === undefined) return this.#open().then((told) => this.#next(told));
    return this.#next(this.#told);
  }

  async return(): Promise<IteratorResult<Told, void>> {
    this.#here?.leave();
    await this.#told?.return?.();
    return { done: true, value: undefined };
  }

  #next(told: AsyncIterableIterator<Told, void, undefined>): Promise<IteratorResult<Told, void>> {
    return told.next().then(
      (found) => (found.done === true ? this.#end(found) : found),
      (error: unknown) => {
        this.#here?.leave();
        throw error;
      },
    );
  }

  #end(done: IteratorReturnResult<void>): IteratorReturnResult<void> {
    this.#here?.leave();
    // Of a caller that is gone there is nothing to say.
    if (this.#failure !== undefined && !this.#context.signal.aborted) throw this.#failure;
    return done;
  }

  async #open(): Promise<AsyncIterableIterator<Told, void, undefined>> {
    const first = await this.#messages.next();
    if (first.done === true) throw invalid(FIRST);
    const opened = await openRun(first.value, this.#context, this.#deps);
    const events = opened.kind === 'over' ? opened.events : this.#take(opened);
    const { room } = this.#deps;
    this.#told = tellEvents(events, { schema: RunStreamResponseSchema, context: this.#context, room });
    return this.#told;
  }

  #take({ run, after }: Extract<Opened, { readonly kind: 'open' }>): RunEvents {
    const { hubs } = this.#deps;
    const hub = hubs.of(run);
    this.#here = hubs.attend(run.id);
    const events = hub.events({ after, signal: this.#context.signal, isWaitedFor: true });
    // Nothing more will be said: what was begun is told to its end, and then there is nothing to stay for.
    void hear(this.#messages, { run, hub, after })
      .catch((error: unknown) => {
        this.#failure = error instanceof Error ? error : new Error('A message could not be read.', { cause: error });
      })
      .then(() => events.enough());
    return events;
  }
}

const FIRST = 'The first message starts a run or resumes one.';

type Opened =
  | { readonly kind: 'open'; readonly run: Run; readonly after: number }
  | { readonly kind: 'over'; readonly events: Awaited<ReturnType<RunHubs['events']>> };

async function openRun({ message }: RunStreamRequest, context: HandlerContext, deps: RunStreamDeps): Promise<Opened> {
  if (message.case === 'start') return { kind: 'open', run: await deps.start(context, message.value), after: 0 };
  if (message.case !== 'resume') throw invalid(FIRST);
  const { runId, afterSequence } = message.value;
  const after = Number(afterSequence);
  try {
    return { kind: 'open', run: await deps.resume(context, runId), after };
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'gateway.run_ended') throw error;
    const known = await knownRun(deps.gateway, parseId('run', runId), {
      peer: peerOf(context),
      mayOthers: () => false,
    });
    const events = await deps.hubs.events(known, { after, signal: context.signal, isWaitedFor: false });
    return { kind: 'over', events };
  }
}

interface Heard {
  readonly run: Run;
  readonly hub: RunHub;
  readonly after: number;
}

/** Resolves when everything was said and every call that was proposed here has ended. */
async function hear(messages: AsyncIterator<RunStreamRequest>, heard: Heard): Promise<void> {
  let underWay = 0;
  let allEnded: PromiseWithResolvers<void> | undefined;
  const begin = (act: Promise<unknown>) => {
    underWay += 1;
    // Whatever becomes of it is told.
    const end = () => {
      underWay -= 1;
      if (underWay === 0) allEnded?.resolve();
    };
    act.then(end, end);
  };
  for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
    await take(next.value, { ...heard, begin });
  }
  if (underWay === 0) return;
  allEnded = Promise.withResolvers();
  await allEnded.promise;
}

async function take(
  { message }: RunStreamRequest,
  { run, hub, after, begin }: Heard & { begin(act: Promise<unknown>): void },
): Promise<void> {
  switch (message.case) {
    case 'propose':
      return begin(hub.propose(run, proposalOf(message.value), after));
    case 'input': {
      const { key, input } = sentInputOf(message.value);
      // Waits while the tool does not read: then the caller is not read from, either.
      return hub.send(key, input);
    }
    case 'cancelCall':
      hub.cancelCall(message.value.key);
      return;
    case 'cancelRun':
      return begin(run.cancel());
    case 'endRun':
      return begin(run.end());
    case 'start':
    case 'resume':
      throw invalid('The run is open already.');
    case undefined:
      throw invalid('There is nothing in the message.');
  }
}
