import { createFindings, type Findings } from './gather-findings.ts';
import { lookInto, type Place } from './list-directory.ts';
import type { Sighting } from './look-into-directory.ts';
import type { NameNode } from './protected-names.ts';
import { nodeOfRoot } from './protected-roots.ts';
import type { Entry } from './read-entries.ts';
import type { ScanLimits } from './scan-limits.ts';
import type { TreeMemory } from './tree-memory.ts';
import { createWalk, type Visited } from './walk-directories.ts';

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

/** The run that the scan comes after. */
export interface SinceRun {
  readonly atMs: number;
  readonly bulk: ReadonlyMap<string, string>;
  /** What was there before it. */
  readonly entries: ReadonlyMap<string, Entry>;
  /** What could not be looked into before it, either. */
  readonly unlooked: ReadonlySet<string>;
}

export interface ScanRequest {
  /** What the tool may write, none of them in another. */
  readonly roots: readonly string[];
  readonly lifted: readonly string[];
  /** Paths that count because another one leads to them. */
  leadsTo(found: Pick<Scan, 'entries' | 'gitTargets'>): Generator<undefined, readonly Sighting[]>;
  readonly memory: TreeMemory;
  readonly now: () => number;
  /** Nobody that we started can write meanwhile. */
  isQuiet(): boolean;
  /** Undefined before the run: then bulk is only looked at where git was found in it. */
  readonly since: SinceRun | undefined;
  readonly limits: ScanLimits;
  /** Tops of what is certainly as it was when it was looked through the last time. */
  readonly still?: ReadonlySet<string>;
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
  /** The top of what is remembered together with it. */
  readonly top: string;
  /** As it was the last time, for certain: neither it nor what is in it is looked at again. */
  readonly isStill?: true;
}

/**
 * SECURITY: T-15 — every directory, for a repository may be anywhere. One whose change time is what it was has the same
 * names in it, and a tool cannot set that time; so an unchanged tree costs one look at each directory, and where the kernel
 * would have told us of any change, none. Yields often: who drives it decides when others go first.
 */
export function* scanTree(request: ScanRequest): Generator<undefined, Scan> {
  const { roots, memory, since, limits, isPlan } = request;
  const mostDirectories = isPlan ? limits.directoriesOfPlan : limits.directories;
  const findings = createFindings(request);
  const walk = createWalk(request, findings);
  for (const root of roots)
    walk.enter({ path: root, root, node: nodeOfRoot(root), isBulk: false, isOlder: false, top: root });
  let count = 0;
  for (let next = walk.next(); next !== undefined; next = walk.next()) {
    count += 1;
    if (count > mostDirectories) {
      findings.unlooked.add(next.root);
      break;
    }
    yield undefined;
    const found = walk.visit(next);
    if (found === undefined) continue;
    const look = found === 'out of reach' ? undefined : (found.look ?? (yield* lookInto(placeOf(next, found, limits))));
    if (found === 'out of reach' || look === undefined) {
      findings.unlooked.add(next.path);
      walk.miss(next);
      continue;
    }
    const at = found.isOlder === next.isOlder ? next : { ...next, isOlder: found.isOlder };
    walk.remember(at, { ...found, look });
    findings.see(look, at);
    if (look.sightings.length > 0) yield* findings.take(look, at);
    walk.goBelow(look, at);
  }
  const ledTo = yield* followAll(request, findings);
  const isWhole = count <= mostDirectories;
  // Before a run, of a whole tree, what is not found is what the operator removed.
  if (since !== undefined || !isWhole) yield* findings.takeKnown();
  walk.settle(isWhole);
  if (isWhole || !isPlan) memory.entries = findings.entries;
  return { ...findings, ledTo };
}

function placeOf(next: Waiting, { stamp }: Visited, { directories }: ScanLimits): Place {
  return { ...next, size: stamp.size, mostDirectories: directories };
}

/** Git follows ten includes of includes, and what they name may be a link. */
const MOST_STEPS = 16;

/** SECURITY: T-15 — what a path leads to may lead further. What lies behind the last step is told, not taken for checked. */
function* followAll({ leadsTo }: ScanRequest, findings: Findings): Generator<undefined, readonly Sighting[]> {
  const all = new Map<string, Sighting>();
  for (let step = 0; ; step += 1) {
    const further = (yield* leadsTo(findings)).filter(({ path }) => !all.has(path));
    if (further.length === 0) return [...all.values()];
    if (step === MOST_STEPS) {
      for (const { path } of further) findings.unlooked.add(path);
      return [...all.values()];
    }
    for (const sighting of further) all.set(sighting.path, sighting);
    yield* findings.takeLedTo(further);
  }
}
