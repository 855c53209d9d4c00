import type { LaunchPlan } from '../launch-plan.ts';
import type { WarmSandbox } from './warm-sandbox.ts';

export interface PoolSettings {
  /** How many wait for one profile. */
  readonly perProfile: number;
  /** For how many profiles; of more than these the one that was not used for the longest time has none. */
  readonly profiles: number;
  /** How long one waits at most. */
  readonly maxAgeMs: number;
}

/** Plans a sandbox like that of the command, and has it started. Undefined when there is none to be had. */
export type PrepareWarm = (
  start: (plan: LaunchPlan) => Promise<WarmSandbox | undefined>,
) => Promise<WarmSandbox | undefined>;

/** What waits, by the key of its plan. */
export interface Shelves {
  /** A command with this key begins. Only what was used twice lately gets a shelf: a single command costs nothing more. */
  noteUse(key: string, prepare: PrepareWarm): void;
  isWaiting(key: string): boolean;
  /** Young, alive and as it was planned; nobody else's from now on. */
  take(key: string): WarmSandbox | undefined;
  /** One that has room and was used lately; what was used last is the likeliest to be used next. */
  lacking(): Shelf | undefined;
  /** False when the shelf is gone meanwhile. */
  put(shelf: Shelf, sandbox: WarmSandbox): boolean;
  forget(key: string): void;
  clear(): void;
  count(): number;
}

export interface Shelf {
  readonly key: string;
  readonly prepare: PrepareWarm;
}

const HOT_MS = 60_000;
const MOST_REMEMBERED = 64;

interface Waiting {
  readonly sandbox: WarmSandbox;
  readonly since: number;
  readonly retire: NodeJS.Timeout;
}

interface FilledShelf extends Shelf {
  prepare: PrepareWarm;
  readonly waiting: Waiting[];
}

export function createShelves(now: () => number, settings: PoolSettings): Shelves {
  /** Both in the order of their last use. */
  const shelves = new Map<string, FilledShelf>();
  const usedAt = new Map<string, number>();
  const isRecent = (key: string, ms: number) => now() - (usedAt.get(key) ?? -Infinity) < ms;

  function forget(key: string): void {
    const { waiting = [] } = shelves.get(key) ?? {};
    shelves.delete(key);
    usedAt.delete(key);
    for (const { sandbox, retire } of waiting) {
      clearTimeout(retire);
      sandbox.end();
    }
  }

  function discard({ key, waiting }: FilledShelf, sandbox: WarmSandbox): void {
    const at = waiting.findIndex((each) => each.sandbox === sandbox);
    if (at >= 0) waiting.splice(at, 1);
    sandbox.end();
    // Nobody came for a long time: nor is the command kept, with what is in its environment.
    if (waiting.length === 0 && !isRecent(key, settings.maxAgeMs)) shelves.delete(key);
  }

  return {
    noteUse(key, prepare) {
      const isHot = isRecent(key, HOT_MS);
      usedAt.delete(key);
      usedAt.set(key, now());
      if (usedAt.size > MOST_REMEMBERED) forget(firstOf(usedAt));
      if (!isHot) return;
      const shelf: FilledShelf = shelves.get(key) ?? { key, prepare, waiting: [] };
      shelf.prepare = prepare;
      shelves.delete(key);
      shelves.set(key, shelf);
      if (shelves.size > settings.profiles) forget(firstOf(shelves));
    },
    isWaiting: (key) => (shelves.get(key)?.waiting.length ?? 0) > 0,
    take(key) {
      const { waiting = [] } = shelves.get(key) ?? {};
      for (let each = waiting.shift(); each !== undefined; each = waiting.shift()) {
        clearTimeout(each.retire);
        const age = now() - each.since;
        if (age >= 0 && age < settings.maxAgeMs && each.sandbox.isSound()) return each.sandbox;
        each.sandbox.end();
      }
      return undefined;
    },
    lacking: () =>
      [...shelves.values()].findLast(
        ({ key, waiting }) => waiting.length < settings.perProfile && isRecent(key, settings.maxAgeMs),
      ),
    put({ key }, sandbox) {
      const shelf = shelves.get(key);
      if (shelf === undefined) return false;
      const retire = setTimeout(() => discard(shelf, sandbox), settings.maxAgeMs).unref();
      shelf.waiting.push({ sandbox, since: now(), retire });
      return true;
    },
    forget,
    clear() {
      for (const key of shelves.keys()) forget(key);
    },
    count: () => [...shelves.values()].reduce((sum, { waiting }) => sum + waiting.length, 0),
  };
}

function firstOf(map: ReadonlyMap<string, unknown>): string {
  return map.keys().next().value ?? '';
}
