import { readdirSync } from 'node:fs';
import { isAtOrBelow } from '../survey/survey-files.ts';
import { isFileError, lookAt, stateOf } from './anchored-files.ts';
import { type Listed, type Look, lookIntoDirectory, type Sighting } from './look-into-directory.ts';
import type { NameNode } from './protected-names.ts';
import { type Entry, isSettled, readEntries } from './read-entries.ts';

/** Every protected path that there is, with what it holds. */
export interface Scan {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly sightings: readonly Sighting[];
  /** Those that others lead to, whether there is something or not. */
  readonly ledTo: readonly Sighting[];
  readonly gitDirectories: ReadonlySet<string>;
  /** Directories of installed packages, by device and inode. */
  readonly bulk: ReadonlyMap<string, string>;
  /** In bulk, and older than the run. */
  readonly older: ReadonlySet<string>;
  /** What could not be looked into. */
  readonly unlooked: ReadonlySet<string>;
}

/** What is known of one workspace from one scan to the next. */
export interface TreeMemory {
  directories: Map<string, Remembered>;
  entries: ReadonlyMap<string, Entry>;
}

export interface Remembered {
  readonly stamp: string;
  readonly lookedAtMs: number;
  readonly look: Look;
}

export interface ScanRequest {
  /** What the tool may write, none of them in another. */
  readonly roots: readonly string[];
  readonly lifted: readonly string[];
  /** Paths that count because another one leads to them. */
  leadsTo(found: Pick<Scan, 'entries'>): readonly Sighting[];
  readonly memory: TreeMemory;
  readonly now: () => number;
  /** Undefined before the run: then bulk is only looked at where git was found in it. */
  readonly since: { readonly atMs: number; readonly bulk: ReadonlyMap<string, string> } | undefined;
}

/** Packages that were installed, objects of git: many directories, and of interest only if there is a repository in them. */
const BULK = new Set(['node_modules', 'site-packages', 'dist-packages', 'objects']);
const MOST_DIRECTORIES = 100_000;
/** A scan lets others go first after so many. */
const STRIDE = 256;

interface Waiting {
  readonly path: string;
  readonly root: string;
  readonly node: NameNode | undefined;
  readonly isBulk: boolean;
  /** Nothing on the way down from the bulk directory was changed by the run. */
  readonly isOlder: boolean;
}

/**
 * SECURITY: T-15 — every directory, for a repository may be anywhere. One whose change time is what it was has the same
 * names in it, and a tool cannot set that time; so an unchanged tree costs one look at each directory.
 */
export function* scanTree(request: ScanRequest): Generator<undefined, Scan> {
  const { roots, memory, now, since } = request;
  const state = createState(request);
  const seen = new Map<string, Remembered>();
  const bulkSince = since?.bulk ?? new Map<string, string>();
  const waiting: Waiting[] = roots.map((root) => ({
    path: root,
    root,
    node: undefined,
    isBulk: false,
    isOlder: false,
  }));
  let count = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    count += 1;
    if (count % STRIDE === 0) yield undefined;
    if (count > MOST_DIRECTORIES) {
      state.unlooked.add(next.root);
      break;
    }
    // Before the look: what changes after it must not seem to have been seen.
    const lookedAtMs = now();
    const found = lookAt(next.path);
    if (found === 'out of reach') state.unlooked.add(next.path);
    if (found === 'out of reach' || found?.kind !== 'directory') continue;
    const known = memory.directories.get(next.path);
    const isKnown = known?.stamp === found.stamp && isSettled(found, known.lookedAtMs);
    const look = isKnown ? known.look : lookInto(next);
    if (look === undefined) {
      state.unlooked.add(next.path);
      continue;
    }
    seen.set(next.path, isKnown ? known : { stamp: found.stamp, lookedAtMs, look });
    // Installing a package changes the bulk directory itself, and makes nothing below it newer.
    const isOlder = next.isOlder && (bulkSince.has(next.path) || (since !== undefined && isSettled(found, since.atMs)));
    state.take(look, { ...next, isOlder });
    waiting.push(...state.below(look, { ...next, isOlder }));
  }
  const ledTo = request.leadsTo(state);
  state.takeLedTo(ledTo);
  if (since === undefined) for (const [path, each] of seen) memory.directories.set(path, each);
  else memory.directories = seen;
  memory.entries = state.entries;
  return { ...state, ledTo };
}

function createState({ roots, lifted, memory, now, since }: ScanRequest) {
  const entries = new Map<string, Entry>();
  const sightings: Sighting[] = [];
  const gitDirectories = new Set<string>();
  const bulk = new Map<string, string>();
  const older = new Set<string>();
  const unlooked = new Set<string>();
  const isLifted = (path: string) => lifted.some((each) => isAtOrBelow(path, each));
  const gitInBulk = [...memory.directories].filter(([, { look }]) => look.isGitDirectory).map(([path]) => path);

  const takeSighting = (sighting: Sighting, { root, isOlder }: Pick<Waiting, 'root' | 'isOlder'>) => {
    if (isLifted(sighting.path)) return;
    sightings.push(sighting);
    const found = readEntries(sighting, { root, now, known: memory.entries });
    if (!found.isComplete) unlooked.add(sighting.path);
    const isOld = isOlder && since !== undefined && found.entries.every((each) => isSettled(each, since.atMs));
    for (const entry of found.entries) {
      entries.set(entry.path, entry);
      if (isOld) older.add(entry.path);
    }
  };
  return {
    entries,
    sightings,
    gitDirectories,
    bulk,
    older,
    unlooked,
    take(look: Look, at: Waiting) {
      if (look.isGitDirectory) gitDirectories.add(at.path);
      for (const sighting of look.sightings) takeSighting(sighting, at);
    },
    takeLedTo(ledTo: readonly Sighting[]) {
      for (const sighting of ledTo) {
        const root = roots.find((each) => isAtOrBelow(sighting.path, each));
        if (root !== undefined && !entries.has(sighting.path)) takeSighting(sighting, { root, isOlder: false });
      }
    },
    below(look: Look, at: Waiting): readonly Waiting[] {
      return look.below.flatMap(({ name, node }) => {
        const path = `${at.path}/${name}`;
        if (isLifted(path)) return [];
        // SECURITY: T-15 — a name that is no text cannot be looked up again, so it must not pass for looked at.
        if (name.includes('\ufffd')) {
          unlooked.add(path);
          return [];
        }
        const isObjects = name === 'objects' && !look.isGitDirectory;
        if (at.isBulk || !BULK.has(name) || isObjects) return [{ ...at, path, node }];
        const identity = identityOf(path);
        bulk.set(path, identity);
        const inBulk = { root: at.root, node: undefined, isBulk: true };
        if (since !== undefined) return [{ ...inBulk, path, isOlder: since.bulk.get(path) === identity }];
        return gitInBulk
          .filter((each) => each.startsWith(`${path}/`))
          .map((each) => ({ ...inBulk, path: each, isOlder: false }));
      });
    },
  };
}

function identityOf(path: string): string {
  return stateOf(path)?.stamp.split('-').slice(0, 2).join('-') ?? 'gone';
}

function lookInto({ path, node, isBulk }: Waiting): Look | undefined {
  const entries = listed(path);
  if (entries === undefined) return undefined;
  const isSame = (one: string, other: string) => {
    const [first, second] = [identityOf(`${path}/${one}`), identityOf(`${path}/${other}`)];
    return first === second && first !== 'gone';
  };
  return lookIntoDirectory(entries, { path, node, isBulk, isSame });
}

function listed(path: string): readonly Listed[] | undefined {
  try {
    return readdirSync(path, { withFileTypes: true }).map((entry) => ({
      name: entry.name,
      kind: entry.isDirectory() ? 'directory' : entry.isSymbolicLink() ? 'link' : 'file',
    }));
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}
