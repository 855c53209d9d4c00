import type { LaunchPlan } from '../launch-plan.ts';
import { poolKey } from './pool-key.ts';
import { createShelves, type PoolSettings, type PrepareWarm, type Shelf } from './shelves.ts';
import type { WarmSandbox } from './warm-sandbox.ts';

export const DEFAULT_POOL: PoolSettings = { perProfile: 2, profiles: 4, maxAgeMs: 30_000 };

/** Sandboxes that were started before anybody asked, each for one tool. */
export interface WarmPool {
  /** A command of this plan begins; `prepare` makes the sandboxes for those that come after it. */
  use(plan: LaunchPlan, prepare: PrepareWarm): PoolUse;
  /** Resolves when none is being started; how many wait then. */
  settled(): Promise<number>;
  /** Starts no more, and ends those that wait. */
  close(): void;
}

export interface PoolUse {
  /** Whether one may be there to be taken; it has not been looked at. */
  isWaiting(): boolean;
  /** One that waits for exactly this plan. */
  take(): WarmSandbox | undefined;
  /** The command has ended. */
  done(): void;
}

export interface PoolDeps {
  /** Undefined when there is none; does not throw. */
  warmUp(plan: LaunchPlan): Promise<WarmSandbox | undefined>;
  readonly now: () => number;
  readonly settings: PoolSettings;
}

/** While commands run, the CPUs are theirs; but one that runs for long does not keep the others waiting. */
const PATIENCE_MS = 100;
/** When one has ended, whoever asked for it still has to say and keep what became of it: the CPUs are not free at once. */
const REST_MS = 10;
/** With so many at once nothing is to be gained, and the launcher's places are for commands. */
const CROWD = 64;

export function createWarmPool({ warmUp, now, settings }: PoolDeps): WarmPool {
  const shelves = createShelves(now, settings);
  const settling = createSettling(
    () => isClosed || (!isFilling && soon === undefined && rested === undefined && later === undefined),
  );
  let running = 0;
  let isFilling = false;
  let isClosed = false;
  let soon: NodeJS.Immediate | undefined;
  let rested: NodeJS.Timeout | undefined;
  let later: NodeJS.Timeout | undefined;

  const next = () => (isClosed || running > CROWD ? undefined : shelves.lacking());

  /** Never while somebody waits for this turn of the loop. */
  function schedule(after: 'a command' | 'another'): void {
    if (isFilling || next() === undefined) return;
    if (running > 0) later ??= setTimeout(() => void fill(), PATIENCE_MS).unref();
    else if (after === 'another') soon ??= setImmediate(() => void fill());
    else rested ??= setTimeout(() => void fill(), REST_MS).unref();
  }

  function unschedule(): void {
    clearImmediate(soon);
    clearTimeout(rested);
    clearTimeout(later);
    soon = rested = later = undefined;
  }

  /** One after the other: each takes a CPU for some milliseconds. */
  async function fill(): Promise<void> {
    unschedule();
    const shelf = next();
    if (shelf !== undefined) {
      isFilling = true;
      const isAdded = await addTo(shelf);
      isFilling = false;
      // Where none can be made, or none like these any more, commands start their own.
      if (!isAdded) shelves.forget(shelf.key);
    }
    schedule('another');
    settling.look();
  }

  async function addTo(shelf: Shelf): Promise<boolean> {
    const prepared = shelf.prepare(async (plan) => (poolKey(plan) === shelf.key ? warmUp(plan) : undefined));
    // Whoever runs the command next is told what is wrong.
    const sandbox = await prepared.catch(() => undefined);
    if (sandbox === undefined) return false;
    if (isClosed || !shelves.put(shelf, sandbox)) sandbox.end();
    return true;
  }

  return {
    use(plan, prepare) {
      const key = poolKey(plan);
      running += 1;
      if (running > CROWD) shelves.clear();
      shelves.noteUse(key, prepare);
      schedule('a command');
      return {
        isWaiting: () => shelves.isWaiting(key),
        take: () => shelves.take(key),
        done() {
          running -= 1;
          schedule('a command');
        },
      };
    },
    settled: async () => {
      await settling.settled();
      return shelves.count();
    },
    close() {
      isClosed = true;
      unschedule();
      shelves.clear();
      settling.look();
    },
  };
}

interface Settling {
  settled(): Promise<void>;
  /** Something may have changed. */
  look(): void;
}

function createSettling(isSettled: () => boolean): Settling {
  let listeners: (() => void)[] = [];
  const look = () => {
    if (!isSettled()) return;
    const told = listeners;
    listeners = [];
    for (const tell of told) tell();
  };
  return {
    look,
    settled: () =>
      new Promise((resolve) => {
        // What waits in the pool keeps no process alive; who waits for the pool does.
        const awake = setInterval(() => undefined, 1000);
        listeners.push(() => {
          clearInterval(awake);
          resolve();
        });
        look();
      }),
  };
}
