import type { AdoptedRun, Gateway, KnownRun } from '@palyra/gateway';
import { parseActor } from '@palyra/journal';
import type { Clock, Logger, RunId } from '@palyra/primitives';
import { createBell } from './bell.ts';
import { createEventRing, type RingBounds } from './event-ring.ts';
import { type RunEvents, readEvents } from './read-events.ts';
import { createRunHub, type ListenOptions, type RunHub, runStarted } from './run-hub.ts';

/** The hubs of the runs that this process has open, and who looks after them. */
export interface RunHubs {
  /** Of a run that is open; the same one for everybody. */
  of(run: AdoptedRun): RunHub;
  /** Of any run, open or not, for whoever may see it. */
  events(run: KnownRun, options: ListenOptions): Promise<RunEvents>;
  /** Somebody of the run's own is here until they say that they leave. A run that all have left is cancelled after a while. */
  attend(run: RunId): Attendance;
  /** What earlier processes left open, and nobody comes back to, is cancelled after the same while. */
  expectOwners(): Promise<void>;
  /** Nothing is cancelled any more. */
  close(): void;
}

export interface Attendance {
  leave(): void;
}

export interface RunHubsDeps {
  readonly gateway: Pick<Gateway, 'adoptRun' | 'openRuns' | 'told'>;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'error'>;
  readonly orphanMs: number;
  /** How long a tool waits for a reader that stands still. */
  readonly patienceMs: number;
  readonly bounds?: RingBounds;
}

/** For those who lost their connection while the run ended: they miss nothing then, not even output. */
const KEEP_ENDED_MS = 60_000;
const MOST_ENDED = 64;

export function createRunHubs(deps: RunHubsDeps): RunHubs {
  const { gateway, clock } = deps;
  const hubs = new Map<RunId, RunHub>();
  const ended = createEndedHubs(hubs, clock);
  const orphans = createOrphans(deps);
  const toldOf =
    (run: RunId): Parameters<typeof createRunHub>[1]['told'] =>
    (page) =>
      gateway.told({ run, ...page });
  const of = (run: AdoptedRun): RunHub => {
    const known = hubs.get(run.id);
    if (known !== undefined) return known;
    const over = () => {
      orphans.forget(run.id);
      ended.add(run.id);
    };
    const hub = createRunHub(run, { ...deps, told: toldOf(run.id), over });
    hubs.set(run.id, hub);
    return hub;
  };

  return {
    of,
    async events(run, options) {
      const open = hubs.get(run.id);
      if (open !== undefined) return open.events(options);
      if (run.end === undefined) return of(await gateway.adoptRun(run.id)).events(options);
      return recordedEvents(run, run.end, { told: toldOf(run.id), ...options });
    },
    attend: (run) => orphans.attend(run),
    async expectOwners() {
      for (const run of await gateway.openRuns()) orphans.attend(run).leave();
    },
    close() {
      orphans.close();
      ended.close();
    },
  };
}

interface Recorded extends ListenOptions {
  readonly told: Parameters<typeof createRunHub>[1]['told'];
}

/** What is on record of a run that is over. */
function recordedEvents(
  run: KnownRun,
  { at: time, outcome, calls, told: number }: NonNullable<KnownRun['end']>,
  { told, after, signal }: Recorded,
): RunEvents {
  const bell = createBell();
  const ring = createEventRing({
    begin: runStarted(run),
    first: number,
    storedUpTo: number - 1,
    changed: () => bell.ring(),
  });
  ring.push({ time, happened: { kind: 'run_ended', outcome, calls } }, 'only_here');
  return readEvents({ ring, told, bell, isOver: true }, { after, signal });
}

interface EndedHubs {
  add(run: RunId): void;
  close(): void;
}

function createEndedHubs(hubs: Map<RunId, RunHub>, clock: Clock): EndedHubs {
  const kept = new Map<RunId, AbortController>();
  const forget = (run: RunId) => {
    kept.get(run)?.abort('over');
    kept.delete(run);
    hubs.delete(run);
  };
  return {
    add(run) {
      const timer = new AbortController();
      kept.set(run, timer);
      clock.sleep(KEEP_ENDED_MS, timer.signal).then(
        () => forget(run),
        () => undefined,
      );
      const [oldest] = kept.keys();
      if (kept.size > MOST_ENDED && oldest !== undefined) forget(oldest);
    },
    close() {
      for (const run of kept.keys()) forget(run);
    },
  };
}

interface Orphans extends Pick<RunHubs, 'attend' | 'close'> {
  /** It is over. */
  forget(run: RunId): void;
}

interface Attended {
  present: number;
  isOver: boolean;
  timer: AbortController | undefined;
}

function createOrphans({ gateway, clock, logger, orphanMs }: RunHubsDeps): Orphans {
  const runs = new Map<RunId, Attended>();
  let isClosed = false;

  const stopTimer = (each: Attended) => {
    each.timer?.abort('over');
    each.timer = undefined;
  };
  const cancel = async (run: RunId) => {
    runs.delete(run);
    const adopted = await gateway.adoptRun(run);
    await adopted.cancel(PALYRAD);
  };
  const expect = (run: RunId, each: Attended) => {
    if (isClosed || each.isOver) return;
    stopTimer(each);
    each.timer = new AbortController();
    clock
      .sleep(orphanMs, each.timer.signal)
      .then(
        // Not stopped when somebody came: whoever comes is in a hurry, and an agent's hooks come one by one.
        () => (each.present === 0 ? cancel(run) : undefined),
        () => undefined,
      )
      .catch((error: unknown) => logger.error({ error, run }, NOT_CANCELLED));
  };
  return {
    forget(run) {
      const each = runs.get(run);
      if (each === undefined) return;
      stopTimer(each);
      each.isOver = true;
      runs.delete(run);
    },
    attend(run) {
      const each = runs.get(run) ?? { present: 0, isOver: false, timer: undefined };
      runs.set(run, each);
      each.present += 1;
      let isHere = true;
      const leave = () => {
        if (!isHere) return;
        isHere = false;
        each.present -= 1;
        if (each.present === 0) expect(run, each);
      };
      return { leave };
    },
    close() {
      isClosed = true;
      for (const each of runs.values()) stopTimer(each);
    },
  };
}

const PALYRAD = parseActor('daemon:palyrad');
const NOT_CANCELLED = 'A run that nobody came back to could not be cancelled.';
