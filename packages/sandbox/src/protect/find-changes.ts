import { dirname } from 'node:path';
import { stateOf } from './anchored-files.ts';
import { createFollower } from './follow-path.ts';
import { isWithin } from './gather-findings.ts';
import {
  dangerousKeys,
  describeKeys,
  isSameConfig,
  type JudgeContext,
  leadsInside,
  type PointerContext,
  withoutDangerousKeys,
} from './judge-entry.ts';
import { indexEntries, type KnownEntries } from './known-entries.ts';
import { type Entry, isRestorable } from './read-entries.ts';
import { programsIn, withoutPrograms } from './rebase-todo.ts';
import { isIn } from './running-watches.ts';
import type { Scan } from './scan-tree.ts';

/** One protected path that is not what it was. */
export interface FoundChange {
  readonly path: string;
  readonly root: string;
  readonly what: 'created' | 'changed' | 'removed' | 'replaced';
  readonly reason: string;
  /** To be put there again; undefined when it was not there. */
  readonly before: Entry | undefined;
  /** To be there instead of what was found, when it was not there before and need not go. */
  readonly rewritten: Buffer | undefined;
  /** A directory goes with all that is in it, although there was one before. */
  readonly isWhole?: true;
}

export interface Comparison extends JudgeContext {
  readonly before: Scan;
  readonly after: Scan;
  readonly lifted: readonly string[];
  /** Whether somebody else did it, when the command was over: for a look that is made much later. */
  isLater?(change: FoundChange): boolean;
}

interface Judged extends PointerContext {
  readonly before: Scan;
  readonly after: Scan;
  readonly known: KnownEntries;
}

/** Sorted by path, so that a directory comes before what is in it. */
export function* findChanges(comparison: Comparison): Generator<undefined, readonly FoundChange[]> {
  const { before, after } = comparison;
  const follow = createFollower(comparison.roots);
  const judged = {
    ...comparison,
    gitTargets: after.gitTargets,
    follow,
    known: yield* indexEntries({ ...comparison, follow }),
  };
  const lost = aboveLost(before);
  const overfull = new Map([...after.overfull].flatMap(([path, is]) => tooMuch(path, is, { before, lost })));
  const changes: FoundChange[] = [];
  for (const path of [...new Set([...before.entries.keys(), ...after.entries.keys()])].toSorted()) {
    yield undefined;
    const change = overfull.get(path) ?? (isWithin(path, overfull) ? underneath(path, before) : compare(path, judged));
    if (change !== undefined) changes.push(change);
  }
  return changes;
}

/**
 * SECURITY: T-15 — more than we read must not be more than we restore: it goes as it is, and what was there before is
 * made anew. Not where there was too much already, or something that we could not make.
 */
function tooMuch(
  path: string,
  is: Entry,
  { before: { entries, unlooked }, lost }: { readonly before: Scan; readonly lost: ReadonlySet<string> },
): readonly (readonly [string, FoundChange])[] {
  const before = entries.get(path);
  if (unlooked.has(path) || (before !== undefined && lost.has(path))) return [];
  const what = before === undefined ? 'created' : 'replaced';
  const reason = `${is.reason} There is more in it than can be looked at.`;
  return [[path, { path, root: is.root, what, reason, before, rewritten: undefined, isWhole: true }]];
}

/** What could not be made again, and every directory above it: asked of each path of which there is too much. */
function aboveLost({ entries }: Scan): ReadonlySet<string> {
  const lost = new Set<string>();
  for (const entry of entries.values()) {
    if (isRestorable(entry)) continue;
    for (let at = entry.path; at.length > 1 && !lost.has(at); at = dirname(at)) lost.add(at);
  }
  return lost;
}

function underneath(path: string, { entries }: Scan): FoundChange | undefined {
  const before = entries.get(path);
  if (before === undefined) return undefined;
  return { path, root: before.root, what: 'removed', reason: before.reason, before, rewritten: undefined };
}

function compare(path: string, judged: Judged): FoundChange | undefined {
  const [was, is] = [judged.before.entries.get(path), judged.after.entries.get(path)];
  if (was === undefined) return is === undefined ? undefined : created(is, judged);
  return is === undefined ? removed(was, judged) : changed(was, is, judged);
}

function created(is: Entry, judged: Judged): FoundChange | undefined {
  const { path, root, rule, kind, reason } = is;
  // An empty directory does nothing. What is in it counts by itself.
  if (kind === 'directory' && rule !== 'config' && rule !== 'pointer') return undefined;
  if (judged.after.older.has(path)) return undefined;
  const found = { path, root, what: 'created' as const, before: undefined, rewritten: undefined };
  const { known } = judged;
  switch (rule) {
    case 'whole':
      return known.isCopy(is) ? undefined : { ...found, reason };
    case 'hooks':
      return known.isMoved(is) || (isLedTo(is, judged) && known.isCopy(is)) ? undefined : { ...found, reason };
    case 'pointer':
      return leadsInside(is, judged)
        ? undefined
        : { ...found, reason: `${reason} That is no repository that was looked into.` };
    case 'config': {
      const keys = dangerousKeys(is, judged);
      if (keys !== undefined && (keys.length === 0 || known.isMovedConfig(keys))) return undefined;
      return { ...found, reason: describeKeys(keys), rewritten: withoutDangerousKeys(is, judged) };
    }
    case 'link': {
      // Where it ends counts by itself, and outside nobody looks.
      const isInside = kind !== 'link' || isIn(judged.follow(path).end, judged.roots);
      return isInside || known.isCopy(is) ? undefined : { ...found, reason };
    }
    case 'todo':
      return withPrograms(is, undefined);
  }
}

/** SECURITY: T-45 — its steps are the tool's work, and stay; a program among them that was not there before does not. */
function withPrograms(is: Entry, was: Entry | undefined): FoundChange | undefined {
  const known = was?.bytes === undefined ? [] : programsIn(was.path, was.bytes);
  const isFile = is.kind === 'file' && is.bytes !== undefined;
  if (isFile && programsIn(is.path, is.bytes).every((line) => known.includes(line))) return undefined;
  const { path, root, reason } = is;
  const rewritten = isFile ? withoutPrograms(is.path, is.bytes, known) : undefined;
  return { path, root, what: was === undefined ? 'created' : 'changed', reason, before: undefined, rewritten };
}

/** In no repository, but where a configuration says: a second worktree has the same, checked out. */
function isLedTo({ path }: Entry, { after }: Judged): boolean {
  return !isWithin(path, after.gitDirectories);
}

function removed(was: Entry, judged: Judged): FoundChange | undefined {
  const { path, root, rule, reason } = was;
  const { before, after, known, realPath } = judged;
  const way = wayTo(was);
  switch (rule) {
    case 'whole':
      // Its directory was renamed, and it is where that went.
      if (way === 'gone' && known.isElsewhere(was)) return undefined;
      break;
    case 'pointer':
    case 'link':
      // A worktree was removed, or the directory of one.
      if (way === 'gone' || was.kind === 'directory') return undefined;
      break;
    case 'todo':
      // The rebase is over.
      return undefined;
    case 'hooks':
    case 'config': {
      if (was.kind === 'directory') return undefined;
      const repository = innermost(path, before.gitDirectories);
      // The repository went with them: nothing is left that would run them, or do without them.
      if (repository === undefined ? way === 'gone' : !isRepository(repository)) return undefined;
      // It lies elsewhere, and was looked into there.
      if (repository !== undefined && way === 'exchanged' && after.gitTargets.has(realPath(repository)))
        return undefined;
    }
  }
  // By a link in place of a directory it can be seen as before.
  if (way === 'exchanged' && known.isSame(was, realPath(path))) return undefined;
  return { path, root, what: 'removed', reason, before: was, rewritten: undefined };
}

/**
 * SECURITY: T-15 — a directory that is gone took with it what was in it. One that was exchanged for a link did not: others
 * still go there, and find something else.
 */
function wayTo({ path, root }: Entry): 'there' | 'gone' | 'exchanged' {
  let at = root;
  for (const name of dirname(path)
    .slice(root.length + 1)
    .split('/')) {
    if (name !== '') at = `${at}/${name}`;
    const kind = stateOf(at)?.kind;
    if (kind !== 'directory') return kind === undefined ? 'gone' : 'exchanged';
  }
  return 'there';
}

/** A submodule's lies in that of the whole. */
function innermost(path: string, gitDirectories: ReadonlySet<string>): string | undefined {
  for (let at = dirname(path); at.length > 1; at = dirname(at)) if (gitDirectories.has(at)) return at;
  return undefined;
}

/** SECURITY: T-15 — by a look at itself: a scan that did not get there says nothing. */
function isRepository(path: string): boolean {
  return stateOf(`${path}/objects`) !== undefined && stateOf(`${path}/refs`) !== undefined;
}

function changed(was: Entry, is: Entry, judged: Judged): FoundChange | undefined {
  const { path, root, rule } = was;
  const found = { path, root, before: was, rewritten: undefined };
  if (was.kind !== is.kind) return { ...found, what: 'replaced', reason: was.reason };
  // Directories differ by what is in them, and by whom they let in.
  if (was.kind === 'directory') {
    const isOpenAsBefore = was.mode === is.mode || rule === 'link';
    return isOpenAsBefore ? undefined : { ...found, what: 'changed', reason: `${was.reason} Its mode was changed.` };
  }
  if (was.kind === 'other') return undefined;
  if (rule === 'todo') return withPrograms(is, was);
  // SECURITY: T-15 — through another name of the file the next run would write it.
  if (is.links > was.links && is.kind === 'file') {
    return { ...found, what: 'replaced', reason: `${was.reason} The file has another name now.` };
  }
  if (was.stamp === is.stamp && was.mode === is.mode) return undefined;
  if (rule === 'config') return changedConfig(was, is, judged);
  if (is.kind === 'link') {
    if (was.target === is.target || (rule === 'pointer' && leadsInside(is, judged))) return undefined;
    return { ...found, what: 'replaced', reason: was.reason };
  }
  const isSame =
    was.bytes !== undefined && is.bytes !== undefined && was.bytes.equals(is.bytes) && was.mode === is.mode;
  if (isSame || (rule === 'pointer' && leadsInside(is, judged))) return undefined;
  return { ...found, what: 'changed', reason: was.reason };
}

function changedConfig(was: Entry, is: Entry, judged: Judged): FoundChange | undefined {
  const [before, after] = [dangerousKeys(was, judged), dangerousKeys(is, judged)];
  if (before !== undefined && after !== undefined && isSameConfig(before, after)) return undefined;
  // Nobody could read it before, either.
  if (before === undefined && was.bytes !== undefined && is.bytes !== undefined && was.bytes.equals(is.bytes))
    return undefined;
  const { path, root } = was;
  const known = new Set(before?.map((each) => JSON.stringify(each)));
  const news = after?.filter((each) => !known.has(JSON.stringify(each)));
  const reason = news?.length === 0 ? 'A key was taken out that is not known to be harmless.' : describeKeys(news);
  return { path, root, what: 'changed', reason, before: was, rewritten: undefined };
}
