import { join } from 'node:path';
import { drive, driveNow } from './drive-steps.ts';
import { createKeeper } from './keep-attempt.ts';
import { keptQuota } from './kept-quota.ts';
import { ledToByNewTrees, pathsLedTo } from './led-to.ts';
import { absentHooks, mountCandidates } from './mount-candidates.ts';
import { createMountPoints, removeLeftMountPoints } from './mount-points.ts';
import { type ProtectionMount, planProtection } from './plan-protection.ts';
import type { ProtectedChange } from './put-back.ts';
import type { Entry } from './read-entries.ts';
import { restoreAll } from './restore-all.ts';
import { createRunning, heldByAll, holdsMore, isIn, type Running, trusted } from './running-watches.ts';
import { SCAN_LIMITS, type ScanLimits } from './scan-limits.ts';
import { type ScanRequest, scanTree, type TreeMemory } from './scan-tree.ts';

/** Looks after protected paths: what is there before a command is there after it. */
export interface Protection {
  /** Which mounts a command would get, by a look at what is known and near the top. Makes nothing. */
  plan(place: ProtectedPlace): readonly ProtectionMount[];
  /** Throws when it is aborted, and has then made nothing. */
  begin(place: ProtectedPlace, options?: BeginOptions): Promise<Watch>;
}

export interface BeginOptions {
  readonly signal?: AbortSignal;
  /** For a sandbox that is made ahead, in which no command runs yet. */
  readonly isPrepared?: true;
}

export interface Watch {
  readonly mounts: readonly ProtectionMount[];
  /** Whether a mount point was made for it, which is removed with the last command that has it. */
  readonly isTemporary: boolean;
  /** To be called when the mounts are in place. */
  started(): void;
  /** After everything that the command started is dead. Puts back, keeps what was found, and says what it was. */
  end(): Promise<readonly ProtectedChange[]>;
  /** When nothing ran. */
  release(): void;
}

export interface ProtectedPlace {
  /** Directories that the command may write, resolved. */
  readonly roots: readonly string[];
  /** Git's, of the workspace itself: their hooks are mounted even when there are none. */
  readonly gitDirectories: readonly string[];
  readonly lifted: readonly string[];
  /** Whether there is a mount namespace to mount in. */
  readonly mounts: boolean;
}

export interface ProtectionDeps {
  /** Ours alone, outside of every workspace. Made when it is needed. */
  readonly keptDirectory: string;
  /** Every link followed; of what is not there, as far as it is. */
  realPath(path: string): string;
  readonly now: () => number;
  readonly limits?: ScanLimits;
}

/** Workspaces of which more than their name is known. */
const MOST_REMEMBERED = 16;

/** Removes mount points that a killed daemon left. */
export function createProtection({ keptDirectory, realPath, now, limits = SCAN_LIMITS }: ProtectionDeps): Protection {
  const records = join(keptDirectory, 'mount-points');
  removeLeftMountPoints(records);
  const points = createMountPoints(records);
  const memories = rememberTrees();
  const running = createRunning();

  const beforeRun = ({ roots, lifted }: ProtectedPlace, own?: Running): ScanRequest => ({
    isQuiet: () => running.all().every((each) => each === own || each.isPrepared),
    roots,
    lifted,
    memory: memories(roots),
    now,
    limits,
    leadsTo: ({ entries }) => pathsLedTo(entries, { roots, realPath }),
    since: undefined,
  });

  const planned = (place: ProtectedPlace) => driveNow(scanTree({ ...beforeRun(place), isPlan: true }));

  return {
    plan(place) {
      if (!place.mounts) return [];
      const absent = absentHooks(place, points.has).map((each) => ({ ...each, hold: 'always' as const }));
      return planProtection([...absent, ...mountCandidates(planned(place), place)]);
    },
    async begin(place, { signal, isPrepared } = {}) {
      signal?.throwIfAborted();
      const made = place.mounts
        ? absentHooks(place, points.has).filter(({ root, path }) => points.take(root, path))
        : [];
      const giveBack = () => {
        for (const { root, path } of made) points.release(root, path);
      };
      const neighbours = running.watchNeighbours();
      const scan = await drive(scanTree(beforeRun(place)), signal).catch((error: unknown) => {
        neighbours.all();
        giveBack();
        throw error;
      });
      const own: Running = {
        place,
        before: { entries: trusted(scan.entries, place, neighbours.all()) },
        mounts: place.mounts ? heldByAll(planProtection(mountCandidates(scan, place)), place, running.all()) : [],
        isPrepared: isPrepared === true,
        started: Promise.withResolvers<void>(),
      };
      const earlier = running.all();
      running.add(own);
      // SECURITY: T-44 — what they are about to mount, this one may be allowed to rename.
      await Promise.all(earlier.filter((other) => holdsMore(other, own)).map(({ started }) => started.promise));
      const release = () => {
        own.started.resolve();
        running.remove(own);
        giveBack();
      };
      const atMs = now();
      return {
        mounts: own.mounts,
        isTemporary: made.length > 0,
        started: () => own.started.resolve(),
        async end() {
          try {
            // What another command may write by the operator's leave is not this one's doing.
            const lifted = [...place.lifted, ...running.others(own).flatMap((other) => other.place.lifted)];
            const before = { ...scan, entries: withoutLifted(own.before.entries, lifted) };
            const { roots } = place;
            const after = await drive(
              scanTree({
                ...beforeRun(place, own),
                lifted,
                leadsTo: ({ entries }) => ledToByNewTrees(scan, entries, { roots, realPath }),
                since: { atMs, bulk: scan.bulk, entries: before.entries },
              }),
            );
            const changes = await drive(
              restoreAll({ before, after, roots, lifted, realPath }, createKeeper(keptDirectory, keptQuota(now))),
            );
            await acceptLifted(own);
            return changes;
          } finally {
            release();
          }
        },
        release,
      };
    },
  };

  /** Others that still run were started before this, and must not undo it. */
  async function acceptLifted(own: Running): Promise<void> {
    const { place } = own;
    const others = running.others(own);
    if (place.lifted.length === 0 || others.length === 0) return;
    const { entries } = await drive(scanTree(beforeRun({ ...place, lifted: [] })));
    for (const { before, place: theirs } of others) {
      const isAccepted = (path: string) =>
        isIn(path, place.lifted) && isIn(path, theirs.roots) && !isIn(path, theirs.lifted);
      const accepted = [...entries].filter(([path]) => isAccepted(path));
      before.entries = new Map([...withoutLifted(before.entries, place.lifted), ...accepted]);
    }
  }
}

function withoutLifted(entries: ReadonlyMap<string, Entry>, lifted: readonly string[]): Map<string, Entry> {
  return new Map([...entries].filter(([path]) => !isIn(path, lifted)));
}

function rememberTrees(): (roots: readonly string[]) => TreeMemory {
  const known = new Map<string, TreeMemory>();
  return (roots) => {
    const key = JSON.stringify(roots);
    const memory = known.get(key) ?? { directories: new Map(), entries: new Map() };
    // The last in the map is the last that was used.
    known.delete(key);
    known.set(key, memory);
    for (const oldest of [...known.keys()].slice(0, -MOST_REMEMBERED)) known.delete(oldest);
    return memory;
  };
}
