import { dirname } from 'node:path';
import { isAtOrBelow } from '../survey/survey-files.ts';
import type { Findings } from './gather-findings.ts';
import { type DirectoryStamp, identityOf, isSameStamp, stampOf } from './list-directory.ts';
import type { Look } from './look-into-directory.ts';
import { isClosedToUs, makeListable } from './make-listable.ts';
import { isSettled } from './read-entries.ts';
import type { ScanRequest, Waiting } from './scan-tree.ts';
import type { Remembered, Unit } from './tree-memory.ts';

/** Which directories are looked at, in which order, and what is remembered of them. */
export interface Walk {
  /** The top of a unit: all of it, or what was remarkable when it is still as it was. */
  enter(top: Waiting): void;
  next(): Waiting | undefined;
  /** Undefined when there is none. Without a look when it has to be listed. */
  visit(next: Waiting): Visited | 'out of reach' | undefined;
  remember(at: Waiting, seen: Remembered): void;
  /** It is out of reach. */
  miss(at: Waiting): void;
  goBelow(look: Look, at: Waiting): void;
  /** When there is no next. */
  settle(isWhole: boolean): void;
}

export interface Visited {
  readonly stamp: DirectoryStamp;
  readonly lookedAtMs: number;
  readonly isOlder: boolean;
  readonly look: Look | undefined;
}

/** Packages that were installed, objects of git: many directories, and of interest only if there is a repository in them. */
const BULK = new Set(['node_modules', 'site-packages', 'dist-packages', 'objects']);

interface Gathered {
  readonly directories: Map<string, Remembered>;
  readonly marks: Waiting[];
  readonly bulk: Waiting[];
  changed: number;
  /** Of something in it nothing is known. */
  isPartial: boolean;
}

export function createWalk(request: ScanRequest, findings: Findings): Walk {
  const { lifted, memory, now, since, still } = request;
  const queue = createQueue();
  /** Units that are looked through, and those that need not be. */
  const gathered = new Map<string, Gathered>();
  const kept = new Map<string, Unit>();
  const isLifted = (path: string) => lifted.some((each) => isAtOrBelow(path, each));

  function enter(top: Waiting): void {
    const known = memory.units.get(top.path);
    if (known === undefined || still?.has(top.path) !== true) {
      gathered.set(top.path, { directories: new Map(), marks: [], bulk: [], changed: 0, isPartial: false });
      queue.add(top);
      return;
    }
    kept.set(top.path, known);
    for (const mark of known.marks) {
      const isOlder = top.isOlder && isWayOlder(mark.path, known);
      if (!isLifted(mark.path)) queue.add({ ...mark, isOlder, isStill: true });
    }
    for (const each of known.bulk) if (!isLifted(each.path)) enterBulk(each);
  }

  /** SECURITY: T-15 — it is as it was when it was gone through, and that may have been while the run went on. */
  function isWayOlder(path: string, { directories }: Unit): boolean {
    if (since === undefined) return false;
    for (let at = path; !since.bulk.has(at); at = dirname(at)) {
      const stamp = directories.get(at)?.stamp;
      if (stamp === undefined || !isSettled(stamp, since.atMs)) return false;
    }
    return true;
  }

  /** After a run, all of it. Before one only where git was found in it. */
  function enterBulk(top: Waiting): void {
    const identity = identityOf(top.path);
    findings.bulk.set(top.path, identity);
    if (since !== undefined) {
      enter({ ...top, isOlder: since.bulk.get(top.path) === identity });
      return;
    }
    const known = memory.units.get(top.path);
    if (known === undefined) return;
    kept.set(top.path, known);
    for (const mark of known.marks) queue.add({ ...mark, ...(still?.has(top.path) === true ? STILL : {}) });
  }

  return {
    enter,
    next: queue.next,
    visit(next) {
      const known = memory.units.get(next.top)?.directories.get(next.path);
      if (next.isStill && known !== undefined) return { ...known, isOlder: next.isOlder };
      // Before the look: what changes after it must not seem to have been seen.
      const lookedAtMs = now();
      const stamp = stampOf(next.path);
      if (stamp === undefined || stamp === 'out of reach') return stamp;
      if (since !== undefined && isClosedToUs(stamp) && !since.unlooked.has(next.path))
        makeListable(next.root, next.path);
      // Installing a package changes the bulk directory itself, and makes nothing below it newer.
      const isOlder =
        next.isOlder && since !== undefined && (since.bulk.has(next.path) || isSettled(stamp, since.atMs));
      const isKnown = known !== undefined && isSameStamp(known.stamp, stamp) && isSettled(stamp, known.lookedAtMs);
      return isKnown ? { ...known, isOlder } : { stamp, lookedAtMs, isOlder, look: undefined };
    },
    remember(at, { stamp, lookedAtMs, look }) {
      const before = memory.units.get(at.top)?.directories.get(at.path);
      const seen = before?.look === look ? before : { stamp, lookedAtMs, look };
      const unit = gathered.get(at.top);
      // Of a unit that is not gone through as a whole only this is new.
      if (unit === undefined) {
        if (seen !== before) kept.get(at.top)?.directories.set(at.path, seen);
        return;
      }
      unit.directories.set(at.path, seen);
      if (seen !== before) unit.changed += 1;
      if (look.sightings.length > 0 || look.isGitTarget) unit.marks.push(at);
    },
    miss({ top }) {
      const unit = gathered.get(top);
      if (unit !== undefined) unit.isPartial = true;
    },
    goBelow(look, at) {
      if (at.isStill || !gathered.has(at.top)) return;
      for (const { name, path, node } of look.below) {
        if (lifted.length > 0 && isLifted(path)) continue;
        const isObjects = name === 'objects' && !look.isGitDirectory;
        if (at.isBulk || !BULK.has(name) || isObjects) {
          queue.add({ path, root: at.root, node, isBulk: at.isBulk, isOlder: at.isOlder, top: at.top });
          continue;
        }
        const top = { path, root: at.root, node: undefined, isBulk: true, isOlder: false, top: path };
        gathered.get(at.top)?.bulk.push(top);
        enterBulk(top);
      }
    },
    settle(isWhole) {
      const units = new Map<string, Unit>(since !== undefined && isWhole ? kept : [...memory.units, ...kept]);
      for (const [top, { changed, isPartial, ...unit }] of gathered) {
        const before = memory.units.get(top);
        const isSame = changed === 0 && before?.directories.size === unit.directories.size;
        units.set(top, {
          ...unit,
          isWhole: isWhole && !isPartial && lifted.length === 0,
          quietWalks: isSame ? before.quietWalks + 1 : 0,
          watch: before?.watch,
        });
      }
      for (const [top, { watch }] of memory.units) if (!units.has(top)) watch?.close();
      memory.units = units;
      memory.walked = new Set(gathered.keys());
    },
  };
}

const STILL = { isStill: true } as const;

/**
 * SECURITY: T-15 — a tool can make more directories than are looked into, so git's come first, then those near the root,
 * and installed packages last.
 */
function createQueue() {
  const [urgent, ordinary, bulk] = [lane(), lane(), lane()];
  return {
    add(each: Waiting) {
      if (each.isBulk) bulk.push(each);
      else (/\/\.git(?:\/|$)/.test(each.path) ? urgent : ordinary).push(each);
    },
    next: () => urgent.shift() ?? ordinary.shift() ?? bulk.shift(),
  };
}

/** First in, first out, without moving what is left. */
function lane() {
  let waiting: Waiting[] = [];
  let at = 0;
  return {
    push: (each: Waiting) => void waiting.push(each),
    shift(): Waiting | undefined {
      const next = waiting[at];
      at += 1;
      if (at < waiting.length) return next;
      waiting = [];
      at = 0;
      return next;
    },
  };
}
