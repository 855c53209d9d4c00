import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { RunService, RunStreamRequest } from '@palyra/api';
import { type Gateway, GatewayError, type Run } from '@palyra/gateway';
import { parseId } from '@palyra/primitives';
import { peerOf } from '../interceptors/peer-context.ts';
import type { RunHub } from '../runs/run-hub.ts';
import type { RunHubs } from '../runs/run-hubs.ts';
import { invalid, proposalOf, sentInputOf } from '../wire/proposal.ts';
import { wireRunEvent } from '../wire/run-event.ts';
import { knownRun } from './known-run.ts';

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
  const { hubs, room } = deps;
  return async function* runStream(requests, context) {
    const messages = requests[Symbol.asyncIterator]();
    const first = await messages.next();
    if (first.done === true) throw invalid(FIRST);
    const opened = await openRun(first.value, context, deps);
    if (opened.kind === 'over') {
      for await (const event of opened.events) yield { event: wireRunEvent(event, room) };
      return;
    }
    const { run, after } = opened;
    const hub = hubs.of(run);
    const here = hubs.attend(run.id);
    let failure: Error | undefined;
    const events = hub.events({ after, signal: context.signal, isWaitedFor: true });
    // Nothing more will be said: what was begun is told to its end, and then there is nothing to stay for.
    void hear(messages, { run, hub, after })
      .catch((error: unknown) => {
        failure = error instanceof Error ? error : new Error('A message could not be read.', { cause: error });
      })
      .then(() => events.enough());
    try {
      for await (const event of events) {
        yield { event: wireRunEvent(event, room) };
      }
    } finally {
      here.leave();
    }
    // Of a caller that is gone there is nothing to say.
    if (failure !== undefined && !context.signal.aborted) throw failure;
  };
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
