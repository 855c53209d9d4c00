import {
  type AdoptedRun,
  type AttachedInput,
  firstNumber,
  type ProposedCall,
  type Run,
  type ToolCallResult,
} from '@palyra/gateway';
import type { Clock } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';
import { createBell } from './bell.ts';
import { type CallInput, createCallInput } from './call-input.ts';
import { createEventRing, type HeldPlaces, type RingBounds } from './event-ring.ts';
import { type ReadTold, type RunEvents, readEvents } from './read-events.ts';
import type { RunEvent } from './run-event.ts';
import { createSlowReaders } from './slow-readers.ts';
import { tellCall } from './tell-call.ts';

/** What happens in one open run, told to everybody who listens. */
export interface RunHub {
  /**
   * Makes the call and tells it. Resolves as the gateway's `call` does, and throws what that throws, which is told, too. A
   * result that the listener gets anyway, because it stands after `after`, is not told once more.
   */
  propose(run: Pick<Run, 'call'>, proposal: Proposal, after: number): Promise<ToolCallResult>;
  /** Resolves when there is room for more. What no call waits for is dropped: it may have ended just now. */
  send(key: string, input: AttachedInput): Promise<void>;
  /** False when no such call is under way. */
  cancelCall(key: string): boolean;
  events(options: ListenOptions): RunEvents;
}

export type Proposal = Pick<ProposedCall, 'tool' | 'input' | 'agentSays' | 'taints'> & { readonly key: string };

export interface ListenOptions {
  /** The last number that the listener has; 0 for all. */
  readonly after: number;
  readonly signal: AbortSignal;
  /** A tool that writes faster than this one reads waits for it, within bounds. */
  readonly isWaitedFor: boolean;
}

export interface RunHubDeps {
  readonly clock: Clock;
  readonly told: ReadTold;
  /** How long a tool waits for a reader that stands still. */
  readonly patienceMs: number;
  readonly bounds?: RingBounds;
  /** The run is over, and that is told. */
  over(): void;
}

interface UnderWay {
  readonly proposal: Proposal;
  readonly result: Promise<ToolCallResult>;
  readonly cancel: AbortController;
  readonly input: CallInput;
}

/** SECURITY: T-39 — each of them holds memory, and perhaps a human. */
const MOST_UNDER_WAY = 256;

export function createRunHub(run: AdoptedRun, deps: RunHubDeps): RunHub {
  const { clock, told, bounds } = deps;
  const bell = createBell();
  const ring = createEventRing({
    ...numbersOf(run),
    changed: () => bell.ring(),
    ...(bounds === undefined ? {} : { bounds }),
  });
  const readers = createSlowReaders({ ...deps, behind: (cursor) => ring.outputAfter(cursor) });
  const underWay = new Map<string, UnderWay>();
  const source = { ring, told, bell, isOver: false };

  let end: HeldPlaces | undefined;
  run.follow({
    endAt() {
      end = ring.hold(1);
      return end;
    },
    over({ outcome, calls }) {
      if (source.isOver) return;
      end?.fill([{ time: clock.now(), happened: { kind: 'run_ended', outcome, calls } }], 'only_here');
      source.isOver = true;
      bell.ring();
      deps.over();
    },
  });

  const begin = (by: Pick<Run, 'call'>, proposal: Proposal, after: number): UnderWay => {
    const cancel = new AbortController();
    const input = createCallInput();
    const { signal } = cancel;
    const result = tellCall(by, proposal, { ring, readers, clock, after, signal, attached: input.attached });
    return { proposal, cancel, input, result };
  };
  return {
    async propose(by, proposal, after) {
      const { key } = proposal;
      const known = underWay.get(key);
      if (known !== undefined && isSame(known.proposal, proposal)) return known.result;
      if (underWay.size >= MOST_UNDER_WAY) {
        const error = new DaemonError('daemon.too_many', `The run has ${MOST_UNDER_WAY} calls under way.`, {
          fix: 'Wait for some of them to end.',
        });
        ring.push({ time: clock.now(), call: { id: '', key }, happened: { kind: 'rejected', error } }, 'passing');
        throw error;
      }
      const begun = begin(by, proposal, after);
      // Of another call under the same key the gateway says that it is none.
      if (known === undefined) underWay.set(key, begun);
      try {
        return await begun.result;
      } finally {
        begun.input.close();
        if (underWay.get(key) === begun) underWay.delete(key);
      }
    },
    async send(key, input) {
      await underWay.get(key)?.input.send(input);
    },
    cancelCall(key) {
      const call = underWay.get(key);
      call?.cancel.abort();
      return call !== undefined;
    },
    events({ after, signal, isWaitedFor }) {
      return readEvents(source, { after, signal, progress: isWaitedFor ? readers.join(after) : undefined });
    },
  };
}

/** The first process that opened a run has told nothing before; what others told is in the database, as far as it is kept. */
function numbersOf(run: AdoptedRun): Pick<Parameters<typeof createEventRing>[0], 'begin' | 'first' | 'storedUpTo'> {
  const begin = runStarted(run);
  if (run.generation === 1) return { begin, first: begin.sequence + 1, storedUpTo: 0 };
  const first = firstNumber(run.generation);
  return { begin, first, storedUpTo: first - 1 };
}

/** Told under the same number by whichever process is asked. */
export function runStarted({ id, session, workspace, startedAt }: StartedRun): RunEvent {
  return {
    sequence: firstNumber(1),
    time: startedAt,
    happened: { kind: 'run_started', runId: id, session, workspace },
  };
}

type StartedRun = Pick<AdoptedRun, 'id' | 'session' | 'workspace' | 'startedAt'>;

function isSame(one: Proposal, other: Proposal): boolean {
  return one.tool === other.tool && one.input === other.input;
}
