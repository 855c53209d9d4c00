import { isAtOrBelow } from '../survey/survey-files.ts';
import { createFindings, type Findings } from './gather-findings.ts';
import { type DirectoryStamp, identityOf, isSameStamp, lookInto, stampOf } from './list-directory.ts';
import type { Look, Sighting } from './look-into-directory.ts';
import type { NameNode } from './protected-names.ts';
import { type Entry, isSettled } from './read-entries.ts';
import type { ScanLimits } from './scan-limits.ts';

/** Every protected path that there is, with what it holds. */
export interface Scan {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly sightings: readonly Sighting[];
  /** Those that others lead to, whether there is something or not. */
  readonly ledTo: readonly Sighting[];
  readonly gitDirectories: ReadonlySet<string>;
  /** Those, and what git keeps of worktrees. */
  readonly gitTargets: ReadonlySet<string>;
  /** Directories of installed packages, by device and inode. */
  readonly bulk: ReadonlyMap<string, string>;
  /** In bulk, and older than the run. */
  readonly older: ReadonlySet<string>;
  /** What could not be looked into. */
  readonly unlooked: ReadonlySet<string>;
  /** Protected paths with more in them than is read. */
  readonly overfull: ReadonlyMap<string, Entry>;
}

/** What is known of one workspace from one scan to the next. */
export interface TreeMemory {
  directories: Map<string, Remembered>;
  entries: ReadonlyMap<string, Entry>;
}

export interface Remembered {
  readonly stamp: DirectoryStamp;
  readonly lookedAtMs: number;
  readonly look: Look;
}

/** The run that the scan comes after. */
export interface SinceRun {
  readonly atMs: number;
  readonly bulk: ReadonlyMap<string, string>;
  /** What was there before it. */
  readonly entries: ReadonlyMap<string, Entry>;
}

export interface ScanRequest {
  /** What the tool may write, none of them in another. */
  readonly roots: readonly string[];
  readonly lifted: readonly string[];
  /** Paths that count because another one leads to them. */
  leadsTo(found: Pick<Scan, 'entries'>): Generator<undefined, readonly Sighting[]>;
  readonly memory: TreeMemory;
  readonly now: () => number;
  /** Nobody that we started can write meanwhile. */
  isQuiet(): boolean;
  /** Undefined before the run: then bulk is only looked at where git was found in it. */
  readonly since: SinceRun | undefined;
  readonly limits: ScanLimits;
  /** Made at once: a short one, of which less is remembered. */
  readonly isPlan?: true;
}

export interface Waiting {
  readonly path: string;
  readonly root: string;
  readonly node: NameNode | undefined;
  readonly isBulk: boolean;
  /** Nothing on the way down from the bulk directory was changed by the run. */
  readonly isOlder: boolean;
}

/** Packages that were installed, objects of git: many directories, and of interest only if there is a repository in them. */
const BULK = new Set(['node_modules', 'site-packages', 'dist-packages', 'objects']);

/**
 * SECURITY: T-15 — every directory, for a repository may be anywhere. One whose change time is what it was has the same
 * names in it, and a tool cannot set that time; so an unchanged tree costs one look at each directory. Yields often: who
 * drives it decides when others go first.
 */
export function* scanTree(request: ScanRequest): Generator<undefined, Scan> {
  const { roots, memory, since, limits, isPlan } = request;
  const mostDirectories = isPlan ? limits.directoriesOfPlan : limits.directories;
  const findings = createFindings(request);
  const seen = new Map<string, Remembered>();
  const queue = createQueue();
  const below = descent(request, findings);
  for (const root of roots) queue.add({ path: root, root, node: undefined, isBulk: false, isOlder: false });
  let count = 0;
  for (let next = queue.next(); next !== undefined; next = queue.next()) {
    count += 1;
    if (count > mostDirectories) {
      findings.unlooked.add(next.root);
      break;
    }
    yield undefined;
    const found = visit(next, request);
    if (found === 'out of reach') findings.unlooked.add(next.path);
    if (found === undefined || found === 'out of reach') continue;
    seen.set(next.path, found.remembered);
    const at = found.isOlder === next.isOlder ? next : { ...next, isOlder: found.isOlder };
    findings.see(found.remembered.look, at);
    if (found.remembered.look.sightings.length > 0) yield* findings.take(found.remembered.look, at);
    for (const each of below(found.remembered.look, at)) queue.add(each);
  }
  const ledTo = yield* request.leadsTo(findings);
  yield* findings.takeLedTo(ledTo);
  const isWhole = count <= mostDirectories;
  // Before a run, of a whole tree, what is not found is what the operator removed.
  if (since !== undefined || !isWhole) yield* findings.takeKnown();
  if (since !== undefined && isWhole) memory.directories = seen;
  else for (const [path, each] of seen) memory.directories.set(path, each);
  if (isWhole || !isPlan) memory.entries = findings.entries;
  return { ...findings, ledTo };
}

interface Visited {
  readonly remembered: Remembered;
  readonly isOlder: boolean;
}

function visit(next: Waiting, { memory, now, since }: ScanRequest): Visited | 'out of reach' | undefined {
  // Before the look: what changes after it must not seem to have been seen.
  const lookedAtMs = now();
  const found = stampOf(next.path);
  if (found === undefined || found === 'out of reach') return found;
  const known = memory.directories.get(next.path);
  const isKnown = known !== undefined && isSameStamp(known.stamp, found) && isSettled(found, known.lookedAtMs);
  const look = isKnown ? known.look : lookInto(next);
  if (look === undefined) return 'out of reach';
  // Installing a package changes the bulk directory itself, and makes nothing below it newer.
  const isOlder = next.isOlder && since !== undefined && (since.bulk.has(next.path) || isSettled(found, since.atMs));
  return { remembered: isKnown ? known : { stamp: found, lookedAtMs, look }, isOlder };
}

/**
 * SECURITY: T-15 — a tool can make more directories than are looked into, so git's come first, then those near the root,
 * and installed packages last.
 */
function createQueue() {
  const [urgent, ordinary, bulk] = [lane(), lane(), lane()];
  return {
    add(each: Waiting) {
      const isGit = /\/\.git(?:\/|$)/.test(each.path);
      (each.isBulk ? bulk : isGit ? urgent : ordinary).push(each);
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

function descent({ lifted, memory, since }: ScanRequest, { bulk }: Findings) {
  const isLifted = (path: string) => lifted.some((each) => isAtOrBelow(path, each));
  const gitInBulk = [...memory.directories].filter(([, { look }]) => look.isGitDirectory).map(([path]) => path);
  return (look: Look, at: Waiting): readonly Waiting[] =>
    look.below.flatMap(({ name, path, node }) => {
      if (isLifted(path)) return [];
      const isObjects = name === 'objects' && !look.isGitDirectory;
      if (at.isBulk || !BULK.has(name) || isObjects) {
        return [{ path, root: at.root, node, isBulk: at.isBulk, isOlder: at.isOlder }];
      }
      const identity = identityOf(path);
      bulk.set(path, identity);
      const inBulk = { root: at.root, node: undefined, isBulk: true };
      if (since !== undefined) return [{ ...inBulk, path, isOlder: since.bulk.get(path) === identity }];
      return gitInBulk
        .filter((each) => each.startsWith(`${path}/`))
        .map((each) => ({ ...inBulk, path: each, isOlder: false }));
    });
}
