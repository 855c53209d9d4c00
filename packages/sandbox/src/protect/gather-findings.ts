import { isAtOrBelow } from '../survey/survey-files.ts';
import type { Look, Sighting } from './look-into-directory.ts';
import { isClosedToUs, makeListable } from './make-listable.ts';
import { type Entry, isSettled, type ReadContext, readAgain, readEntries } from './read-entries.ts';
import type { ScanRequest, Waiting } from './scan-tree.ts';

/** What a scan has come upon so far. */
export interface Findings {
  readonly entries: Map<string, Entry>;
  readonly sightings: Sighting[];
  readonly gitDirectories: Set<string>;
  readonly gitTargets: Set<string>;
  readonly bulk: Map<string, string>;
  readonly older: Set<string>;
  readonly unlooked: Set<string>;
  readonly overfull: Map<string, Entry>;
  see(look: Look, at: Waiting): void;
  /** Reads what is sighted. */
  take(look: Look, at: Waiting): Generator<undefined, void>;
  /** What was there the last time, wherever the scan did not get to. */
  takeKnown(): Generator<undefined, void>;
  takeLedTo(ledTo: readonly Sighting[]): Generator<undefined, void>;
}

export function createFindings(request: ScanRequest): Findings {
  const { roots, lifted, memory, since } = request;
  const found = {
    entries: new Map<string, Entry>(),
    sightings: [] as Sighting[],
    gitDirectories: new Set<string>(),
    gitTargets: new Set<string>(),
    bulk: new Map<string, string>(),
    older: new Set<string>(),
    unlooked: new Set<string>(),
    overfull: new Map<string, Entry>(),
  };
  const { entries, overfull } = found;
  const known = since?.entries ?? memory.entries;
  const isLifted = (path: string) => lifted.some((each) => isAtOrBelow(path, each));
  const contextOf = reading(request, known);

  function* takeSighting(sighting: Sighting, { root, isOlder }: Pick<Waiting, 'root' | 'isOlder'>) {
    if (isLifted(sighting.path)) return;
    found.sightings.push(sighting);
    const read = yield* readEntries(sighting, contextOf(root, sighting.path));
    const [first] = read.entries;
    if (!read.isComplete) {
      found.unlooked.add(sighting.path);
      if (first !== undefined) overfull.set(sighting.path, first);
    }
    const isOld =
      isOlder && since !== undefined && read.isComplete && read.entries.every((each) => isSettled(each, since.atMs));
    for (const entry of read.entries) {
      // Hooks may hold other names of the list, and everything in them counts.
      if (entries.get(entry.path)?.rule !== 'hooks') entries.set(entry.path, entry);
      if (isOld) found.older.add(entry.path);
    }
  }

  return {
    ...found,
    see(look, { path }) {
      if (look.isGitDirectory) found.gitDirectories.add(path);
      if (look.isGitTarget) found.gitTargets.add(path);
    },
    *take(look, at) {
      for (const sighting of look.sightings) yield* takeSighting(sighting, at);
    },
    // SECURITY: T-15 — what a tool can hide from a scan by filling it up, it must not be able to change or remove unseen.
    *takeKnown() {
      for (const [path, was] of known) {
        yield undefined;
        if (entries.has(path) || isLifted(path) || isWithin(path, overfull)) continue;
        // It may have been another command that saw it first, from a root of its own.
        const root = roots.find((each) => isAtOrBelow(path, each));
        if (root === undefined) continue;
        const is = readAgain(was, contextOf(root, path));
        if (is !== undefined) entries.set(path, is);
      }
    },
    *takeLedTo(ledTo) {
      for (const sighting of ledTo) {
        const root = roots.find((each) => isAtOrBelow(sighting.path, each));
        if (root !== undefined && !entries.has(sighting.path)) yield* takeSighting(sighting, { root, isOlder: false });
      }
    },
  };
}

/** Whether one of them is the path, or a directory above it. */
export function isWithin(path: string, places: { has(path: string): boolean; readonly size: number }): boolean {
  if (places.size === 0) return false;
  for (let at = path; at.length > 1; at = at.slice(0, Math.max(at.lastIndexOf('/'), 0))) {
    if (places.has(at)) return true;
  }
  return false;
}

/** Two budgets, so that what is new cannot use up that of what was there. */
function reading(
  { memory, now, isQuiet, since, limits }: ScanRequest,
  known: ReadonlyMap<string, Entry>,
): (root: string, path: string) => ReadContext {
  const [forKnown, forNew] = [{ ...limits }, { ...limits }];
  const sizes = new Set<string>();
  if (since !== undefined) for (const { within, size } of since.entries.values()) sizes.add(`${within}\0${size}`);
  // SECURITY: T-15 — of what is new only that is loaded which may be a copy, or is judged by what it says.
  const loads: ReadContext['loads'] = ({ path, within, rule, size }) =>
    since === undefined ||
    rule === 'config' ||
    rule === 'pointer' ||
    rule === 'todo' ||
    since.entries.has(path) ||
    sizes.has(`${within}\0${size}`);
  return (root, path) => ({
    root,
    now,
    isQuiet,
    known: memory.entries,
    budget: known.has(path) ? forKnown : forNew,
    loads,
    opens: (each) =>
      since === undefined || !isClosedToUs(each) || since.unlooked.has(path) || makeListable(root, each.path),
  });
}
