import { type FSWatcher, readFileSync, statfsSync, watch } from 'node:fs';
import { basename } from 'node:path';
import { setImmediate as afterOthers } from 'node:timers/promises';
import { isFileError } from './anchored-files.ts';
import { type DirectoryStamp, stampOf } from './list-directory.ts';
import { toBytes } from './path-bytes.ts';
import type { Remembered, TreeMemory, Unit, UnitWatch } from './tree-memory.ts';

/** Knows of trees in which nothing happened, because the kernel would have told us. */
export interface Stillness {
  /** To be asked when a command is dead, or before one begins; from then on nothing of it is missed. */
  look(memory: TreeMemory): Promise<StillTrees>;
  /** After a scan that began with that look. Watches what did not change for a while. */
  scanned(memory: TreeMemory, looked: StillTrees): void;
  /** Nothing runs: there is time to watch more. */
  idle(): void;
  close(): void;
}

export interface StillTrees {
  readonly tops: ReadonlySet<string>;
  /** How many events there had been, */
  readonly at: number;
  /** and how often some may have been missed. */
  readonly uncounted: number;
  /** Which look it was. */
  readonly number: number;
}

/** File systems of this machine alone, where every change goes through the kernel that watches: ext, xfs, btrfs, f2fs, tmpfs. */
const LOCAL: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x01021994]);
/** Watches are the user's, and other programs need some. */
const MOST_WATCHED = 8192;
/** Each look before or after a command is one. */
const QUIET_WALKS = 4;
/** Of fewer a look at each takes no longer. */
const FEWEST_WATCHED = 32;
/** More directories at once are those of an installation. */
const MOST_ADDED = 256;
/** Far below what the kernel keeps for us (16,384). */
const MOST_EVENTS = 4096;
/** A tool that writes all the time must not keep us busy. */
const MOST_EVENTS_OF_UNIT = 1024;
const SLICE_MS = 2;

/**
 * SECURITY: T-15 — a unit is still when all its directories were watched while it was gone through, and no event came since.
 * Events of all units come through one queue; when that is full the kernel drops some, and Node does not say so. So it
 * must also be certain that there were few: those of a handle that was closed nobody counts, so after that none is still
 * until it was gone through again. Events are in the queue before the call that caused them returns, and are delivered
 * before the next turn of the loop.
 */
export function createStillness(isBusy: () => boolean): Stillness {
  const open = new Set<Watching>();
  const wanted = new Map<string, TreeMemory>();
  let events = 0;
  let uncounted = 0;
  let looks = 0;
  let size = 0;
  let mounts = mountTable();
  let isFull = false;
  let opening: Generator<undefined, void> | undefined;
  let isAdvancing = false;

  const watchOf = ({ watch: own }: Unit) => [...open].find((each) => each === own);
  const isStill = (unit: Unit) => {
    const own = watchOf(unit);
    return (
      own?.gone?.unit === unit &&
      own.gone.looked.uncounted === uncounted &&
      own.last <= own.gone.looked.at &&
      events - own.gone.looked.at <= MOST_EVENTS
    );
  };

  function begin(): Watching {
    const own: Watching = {
      handles: new Map(),
      over: new Set(),
      last: 0,
      count: 0,
      opened: 0,
      gone: undefined,
      close: () => drop(own),
    };
    open.add(own);
    return own;
  }

  function drop(own: Watching): void {
    if (!open.delete(own)) return;
    uncounted += 1;
    size -= own.handles.size;
    for (const { watcher } of own.handles.values()) watcher.close();
  }

  function forget(own: Watching, path: string): void {
    const handle = own.handles.get(path);
    own.over.delete(path);
    if (handle === undefined) return;
    handle.watcher.close();
    own.handles.delete(path);
    uncounted += 1;
    size -= 1;
  }

  function hear(own: Watching, over: string | undefined): void {
    if (over !== undefined) own.over.add(over);
    events += 1;
    own.last = events;
    own.count += 1;
    if (own.count > MOST_EVENTS_OF_UNIT) drop(own);
  }

  /** Where there is something to be watched that is not. From the next scan on it counts. */
  function* openAll(memory: TreeMemory, top: string): Generator<undefined, void> {
    const unit = memory.units.get(top);
    if (unit === undefined) return;
    const own = watchOf(unit) ?? begin();
    unit.watch = own;
    for (const [path, { stamp }] of missing(unit, own)) {
      yield undefined;
      if (!open.has(own)) return;
      const watcher = watchDirectory(path, (isOver) => hear(own, isOver ? path : undefined));
      isFull ||= watcher === undefined;
      if (watcher === undefined) return drop(own);
      forget(own, path);
      own.handles.set(path, { watcher, stamp });
      own.opened = looks;
      size += 1;
    }
    // It may have been gone through meanwhile, and be another object.
    const now = memory.units.get(top);
    if (now === undefined) drop(own);
    else now.watch = own;
  }

  /** A little at a time, and never while a command runs. */
  async function advance(): Promise<void> {
    for (;;) {
      await settled();
      if (isBusy()) return;
      const [next] = wanted;
      if (opening === undefined && next !== undefined) {
        wanted.delete(next[0]);
        opening = openAll(next[1], next[0]);
      }
      if (opening === undefined) return;
      const until = performance.now() + SLICE_MS;
      while (opening !== undefined && performance.now() < until) if (opening.next().done === true) opening = undefined;
    }
  }

  /** After it was gone through: it is still from the look before that, or something more has to be watched. */
  function settle(top: string, memory: TreeMemory, looked: StillTrees): void {
    const unit = memory.units.get(top);
    if (unit === undefined) return;
    const own = watchOf(unit);
    const added = own === undefined ? unit.directories.size : missing(unit, own).length;
    if (own !== undefined) {
      for (const path of own.handles.keys()) if (!unit.directories.has(path)) forget(own, path);
      // SECURITY: T-15 — one that was opened in the middle of the scan did not hear what came after its directory's turn.
      own.gone = unit.isWhole && added === 0 && own.opened < looked.number ? { looked, unit } : undefined;
      own.count = 0;
      if (unit.isWhole && added === 0) return;
    }
    const isWorthIt =
      own === undefined ? unit.quietWalks >= QUIET_WALKS && added >= FEWEST_WATCHED : added <= MOST_ADDED;
    const isPossible = () => unit.isWhole && !isFull && size + added <= MOST_WATCHED && isLocal(top, unit);
    if (isWorthIt && isPossible()) wanted.set(top, memory);
    else if (own !== undefined) drop(own);
  }

  return {
    async look({ units }) {
      if (open.size > 0) await settled();
      looks += 1;
      const looked = { at: events, uncounted, number: looks };
      if (open.size === 0) return { ...looked, tops: new Set() };
      const table = mountTable();
      // A mount over a directory is no event in it.
      if (table !== mounts) uncounted += 1;
      mounts = table;
      const still = [...units].filter(([top, unit]) => isStill(unit) && isSameTop(top, unit));
      return { ...looked, uncounted, tops: new Set(still.map(([top]) => top)) };
    },
    scanned(memory, looked) {
      for (const top of memory.walked) settle(top, memory, looked);
    },
    idle() {
      if (isAdvancing || (wanted.size === 0 && opening === undefined)) return;
      isAdvancing = true;
      void advance().finally(() => {
        isAdvancing = false;
      });
    },
    close() {
      wanted.clear();
      opening = undefined;
      isFull = true;
      for (const own of open) drop(own);
    },
  };
}

/** The handles of one unit. */
interface Watching extends UnitWatch {
  readonly handles: Map<string, { readonly watcher: FSWatcher; readonly stamp: DirectoryStamp }>;
  /** Directories that are gone. What has the same name, and even the same number, by now may be another one. */
  readonly over: Set<string>;
  /** The number of its last event. */
  last: number;
  /** Since it was gone through. */
  count: number;
  /** The look after which the last of them was opened. */
  opened: number;
  /**
   * When it was gone through, and all of it was watched. SECURITY: T-15 — what another scan has put in the place of that, a
   * shorter one (`plan`) or one that began earlier, may know of less.
   */
  gone: { readonly looked: StillTrees; readonly unit: Unit } | undefined;
}

/** A directory that was made anew under the same name is another one. */
function missing({ directories }: Unit, { handles, over }: Watching): readonly (readonly [string, Remembered])[] {
  return [...directories].filter(([path, { stamp }]) => {
    const known = handles.get(path)?.stamp;
    if (over.has(path)) return true;
    return known === undefined || known.inode !== stamp.inode || known.device !== stamp.device;
  });
}

/** What happened until now was told. Twice, in case that the first turn began with what it had. */
async function settled(): Promise<void> {
  await afterOthers();
  await afterOthers();
}

/** Told whether it was its last event: it was removed or renamed itself. */
function watchDirectory(path: string, heard: (isOver: boolean) => void): FSWatcher | undefined {
  const own = Buffer.from(toBytes(basename(path))).toString('latin1');
  try {
    return watch(toBytes(path), { persistent: false, encoding: 'latin1' }, (type, name) => {
      // Its own name stands for itself, and may be that of something in it.
      heard(type === 'rename' && (name === null || name === own));
    }).on('error', () => heard(true));
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}

function isSameTop(top: string, { directories }: Unit): boolean {
  const [known, found] = [directories.get(top)?.stamp, stampOf(top)];
  if (known === undefined || found === undefined || found === 'out of reach') return false;
  return known.inode === found.inode && known.device === found.device;
}

/** All of it on one file system, and that one of those. */
function isLocal(top: string, { directories }: Unit): boolean {
  const device = directories.get(top)?.stamp.device;
  const isHere = ({ stamp }: Remembered) => stamp.device === device;
  try {
    return [...directories.values()].every(isHere) && LOCAL.has(statfsSync(toBytes(top)).type);
  } catch (error) {
    if (isFileError(error)) return false;
    throw error;
  }
}

function mountTable(): string {
  return readFileSync('/proc/self/mountinfo', 'utf8');
}
