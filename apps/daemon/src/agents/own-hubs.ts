import { GatewayError, type Run } from '@palyra/gateway';
import type { Clock } from '@palyra/primitives';
import type { RunEvents } from '../runs/read-events.ts';
import type { RunEvent } from '../runs/run-event.ts';
import type { ListenOptions, RunHub } from '../runs/run-hub.ts';
import type { RunHubs } from '../runs/run-hubs.ts';

/** The hubs of one run as those in its box see them. */
export interface OwnHubs extends RunHubs {
  /** The run for one who came in: when they end it, it is over for them. The run itself ends with the agent. */
  share(run: Run): Run;
}

/** What is heard in a box is what was proposed in it: not the agent's own terminal, nor what is said about it outside. */
export function createOwnHubs(hubs: RunHubs, clock: Pick<Clock, 'now'>): OwnHubs {
  const keys = new Set<string>();
  const left = new WeakMap<object, PromiseWithResolvers<void>>();
  const hubOf = (hub: RunHub, ended: Promise<void> | undefined): RunHub => ({
    propose(by, proposal, after) {
      keys.add(proposal.key);
      return hub.propose(by, proposal, after);
    },
    send: async (key, input) => (keys.has(key) ? hub.send(key, input) : undefined),
    cancelCall: (key) => keys.has(key) && hub.cancelCall(key),
    events: (options) => ownEvents(hub, options, { keys, ended, clock }),
  });
  return {
    ...hubs,
    share(run) {
      const over = Promise.withResolvers<void>();
      const leave = async () => over.resolve();
      const shared: Run = { ...run, end: leave, cancel: leave };
      left.set(shared, over);
      return shared;
    },
    // SECURITY: T-16, T-35 — whoever is in the box does not keep the box: with the one who began the run gone, it ends.
    attend: () => ({ leave: () => undefined }),
    of: (run) => hubOf(hubs.of(run), left.get(run)?.promise),
    async events() {
      throw new GatewayError('gateway.run_not_found', 'There is no such run of this credential.');
    },
  };
}

interface Listening {
  readonly keys: ReadonlySet<string>;
  /** Whoever listens has ended the run, as far as it is theirs. */
  readonly ended: Promise<void> | undefined;
  readonly clock: Pick<Clock, 'now'>;
}

function ownEvents(hub: RunHub, options: ListenOptions, listening: Listening): RunEvents {
  const stop = new AbortController();
  void listening.ended?.then(() => stop.abort());
  const all = hub.events({ ...options, signal: AbortSignal.any([options.signal, stop.signal]) });
  const own = filtered(all, { ...listening, options, stopped: stop.signal });
  // Which of them are its own is found out one by one.
  return Object.assign(own, { ready: () => undefined, enough: () => all.enough() });
}

async function* filtered(
  all: RunEvents,
  { keys, clock, options, stopped }: Listening & { readonly options: ListenOptions; readonly stopped: AbortSignal },
): AsyncGenerator<RunEvent, void, undefined> {
  let last = options.after;
  let isOver = false;
  for await (const event of all) {
    if (event.call !== undefined && !keys.has(event.call.key)) continue;
    last = event.sequence;
    isOver = event.happened.kind === 'run_ended';
    yield event;
  }
  if (!stopped.aborted || isOver || options.signal.aborted) return;
  yield {
    sequence: last + 1,
    time: clock.now(),
    happened: { kind: 'run_ended', outcome: 'completed', calls: keys.size },
  };
}
