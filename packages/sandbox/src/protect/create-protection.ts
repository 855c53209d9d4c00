import { dirname, join } from 'node:path';
import { stateOf } from './anchored-files.ts';
import { drive, driveNow } from './drive-steps.ts';
import type { Comparison, FoundChange } from './find-changes.ts';
import { createKeeper } from './keep-attempt.ts';
import { keptQuota } from './kept-quota.ts';
import { ledToAfter, pathsLedTo } from './led-to.ts';
import type { LeftRun } from './left-runs.ts';
import { absentHooks, mountCandidates } from './mount-candidates.ts';
import { createMountPoints, removeLeftMountPoints } from './mount-points.ts';
import { createRunNotes, type RunState } from './note-runs.ts';
import { type ProtectionMount, planProtection } from './plan-protection.ts';
import type { ProtectedChange } from './put-back.ts';
import { restoreAll } from './restore-all.ts';
import { createRunning, heldByAll, holdsMore, type Running, trusted } from './running-watches.ts';
import { SCAN_LIMITS, type ScanLimits } from './scan-limits.ts';
import { type Scan, type ScanRequest, scanTree } from './scan-tree.ts';
import type { Snapshot } from './snapshot.ts';
import { createStillness } from './stillness.ts';
import { orAborted } from './take-turns.ts';
import { rememberTrees } from './tree-memory.ts';

/** Looks after protected paths: what is there before a command is there after it. */
export interface Protection {
  /** Which mounts a command would get, by a look at what is known and near the top. Makes nothing. */
  plan(place: ProtectedPlace): readonly ProtectionMount[];
  /** Throws when it is aborted, and has then made nothing. */
  begin(place: ProtectedPlace, options?: BeginOptions): Promise<Watch>;
  /** The look that a daemon did not come to because it was killed. To be called before anything is begun. */
  makeUp(left: LeftRun): Promise<readonly ProtectedChange[]>;
  /** When nothing runs any more. */
  close(): void;
}

export interface BeginOptions {
  readonly signal?: AbortSignal;
  /** How long the command may run, when that is known. */
  readonly lastsMs?: number;
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
  /** The operator's. */
  readonly home: string;
  readonly now: () => number;
  readonly limits?: ScanLimits;
  /** Of the commands: what it started ends with it. */
  readonly launcher?: RunState['launcher'];
}

/** In Palyra's home. */
export function runsDirectory(keptDirectory: string): string {
  return join(keptDirectory, 'runs');
}

/** How much longer than it may run a command has been seen to write: it takes a moment to kill it. */
const DYING_MS = 60_000;

/** Removes mount points that a killed daemon left. */
export function createProtection(deps: ProtectionDeps): Protection {
  const { keptDirectory, realPath, home, now, limits = SCAN_LIMITS } = deps;
  const records = join(keptDirectory, 'mount-points');
  removeLeftMountPoints(records);
  const points = createMountPoints(records);
  const memories = rememberTrees();
  const running = createRunning();
  const notes = createRunNotes(runsDirectory(keptDirectory), deps.launcher);

  const beforeRun = ({ roots, lifted }: Snapshot['place'], own?: Running): ScanRequest => ({
    isQuiet: () => running.all().every((each) => each === own || each.isPrepared),
    roots,
    lifted,
    memory: memories(roots),
    now,
    limits,
    leadsTo: (found) => pathsLedTo(found, { roots, realPath, home }),
    since: undefined,
  });

  const stillness = createStillness(() => running.all().some(({ isPrepared }) => !isPrepared));
  const scanStill = async (request: ScanRequest, signal?: AbortSignal): Promise<Scan> => {
    const looked = await stillness.look(request.memory);
    const scan = await drive(scanTree({ ...request, still: looked.tops }), signal);
    stillness.scanned(request.memory, looked);
    return scan;
  };

  const planned = (place: ProtectedPlace) => driveNow(scanTree({ ...beforeRun(place), isPlan: true }));

  /** Compares with how things were, and puts back. */
  async function restoreSince(
    { place, before }: Snapshot,
    atMs: number,
    { own, isLater }: { readonly own?: Running; readonly isLater?: NonNullable<Comparison['isLater']> },
  ): Promise<readonly ProtectedChange[]> {
    const { roots, lifted } = place;
    const after = await scanStill({
      ...beforeRun(place, own),
      leadsTo: (found) => ledToAfter(before, found, { roots, realPath, home }),
      since: { atMs, bulk: before.bulk, entries: before.entries, unlooked: before.unlooked },
    });
    const comparison = { before, after, roots, lifted, realPath, ...(isLater === undefined ? {} : { isLater }) };
    return drive(restoreAll(comparison, createKeeper(keptDirectory, keptQuota(now))));
  }

  return {
    async makeUp({ snapshot, atMs, untilMs }) {
      if (snapshot === undefined) return [];
      const isLater = ({ path }: FoundChange) => untilMs !== undefined && lastChangeAt(path) > untilMs;
      return restoreSince(snapshot, atMs, { isLater });
    },
    close() {
      notes.close();
      stillness.close();
    },
    plan(place) {
      if (!place.mounts) return [];
      const absent = absentHooks(place, points.has).map((each) => ({ ...each, hold: 'always' as const }));
      return planProtection([...absent, ...mountCandidates(planned(place), place)]);
    },
    async begin(place, { signal, isPrepared, lastsMs } = {}) {
      signal?.throwIfAborted();
      const made = place.mounts
        ? absentHooks(place, points.has).filter(({ root, path }) => points.take(root, path))
        : [];
      const giveBack = () => {
        for (const { root, path } of made) points.release(root, path);
      };
      const neighbours = running.watchNeighbours();
      const scan = await scanStill(beforeRun(place), signal).catch((error: unknown) => {
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
      let takeBack: (() => void) | undefined;
      const release = () => {
        own.started.resolve();
        running.remove(own);
        giveBack();
        takeBack?.();
        stillness.idle();
      };
      const giveUp = (error: unknown) => {
        release();
        throw error;
      };
      // SECURITY: T-44 — what they are about to mount, this one may be allowed to rename. They may wait for their word.
      const mounted = earlier.filter((other) => holdsMore(other, own)).map(({ started }) => started.promise);
      await orAborted(Promise.all(mounted), signal).catch(giveUp);
      const atMs = now();
      const before = { ...scan, entries: own.before.entries };
      const untilMs = lastsMs === undefined ? undefined : atMs + lastsMs + DYING_MS;
      const { roots, lifted } = place;
      const snapshot = { place: { roots, lifted }, before };
      if (isPrepared !== true) {
        takeBack = await notes.begin(snapshot, { atMs, untilMs }).catch(giveUp);
      }
      return {
        mounts: own.mounts,
        isTemporary: made.length > 0,
        started: () => own.started.resolve(),
        async end() {
          try {
            return await restoreSince(snapshot, atMs, { own });
          } finally {
            release();
          }
        },
        release,
      };
    },
  };
}

/** Of the path, or of what is left of the way to it. */
function lastChangeAt(path: string): number {
  for (let at = path; at.length > 1; at = dirname(at)) {
    const found = stateOf(at);
    if (found !== undefined) return found.changedAtMs;
  }
  return 0;
}
