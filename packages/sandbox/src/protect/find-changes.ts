import { dirname } from 'node:path';
import {
  dangerousKeys,
  describeKeys,
  isSameConfig,
  type JudgeContext,
  leadsInside,
  withoutDangerousKeys,
} from './judge-entry.ts';
import type { Entry } from './read-entries.ts';
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
}

export interface Comparison extends JudgeContext {
  readonly before: Scan;
  readonly after: Scan;
  isDirectory(path: string): boolean;
}

/** Sorted by path, so that a directory comes before what is in it. */
export function findChanges(comparison: Comparison): readonly FoundChange[] {
  const { before, after } = comparison;
  const paths = [...new Set([...before.entries.keys(), ...after.entries.keys()])].toSorted();
  return paths.flatMap((path) => {
    const [was, is] = [before.entries.get(path), after.entries.get(path)];
    if (was === undefined) return is === undefined ? [] : (created(is, comparison) ?? []);
    return (is === undefined ? removed(was, comparison) : changed(was, is, comparison)) ?? [];
  });
}

function created(is: Entry, comparison: Comparison): FoundChange | undefined {
  const { path, root, rule, kind, reason } = is;
  // An empty directory does nothing. What is in it counts by itself.
  if (kind === 'directory' && rule !== 'config' && rule !== 'pointer') return undefined;
  if (comparison.after.older.has(path)) return undefined;
  const found = { path, root, what: 'created' as const, before: undefined, rewritten: undefined };
  switch (rule) {
    case 'whole':
      return isCopy(is, comparison) ? undefined : { ...found, reason };
    case 'hooks':
      return isMoved(is, comparison) ? undefined : { ...found, reason };
    case 'pointer':
      return leadsInside(is, comparison) ? undefined : { ...found, reason: `${reason} That is outside.` };
    case 'config': {
      const keys = dangerousKeys(is, comparison);
      if (keys !== undefined && (keys.length === 0 || isMovedConfig(is, comparison))) return undefined;
      return { ...found, reason: describeKeys(keys), rewritten: withoutDangerousKeys(is, comparison) };
    }
  }
}

/** As a checkout of the same commit in a second worktree brings it: the operator has these bytes under this name. */
function isCopy(is: Entry, { before }: Comparison): boolean {
  return [...before.entries.values()].some((was) => was.rule === 'whole' && isSameContent(was, is));
}

/** Its repository was renamed. */
function isMoved(is: Entry, { before, after }: Comparison): boolean {
  return [...before.entries.values()].some(
    (was) => was.rule === is.rule && !after.entries.has(was.path) && isSameContent(was, is),
  );
}

function isMovedConfig(is: Entry, comparison: Comparison): boolean {
  const { before, after } = comparison;
  const keys = dangerousKeys(is, comparison) ?? [];
  return [...before.entries.values()].some((was) => {
    if (was.rule !== 'config' || after.entries.has(was.path)) return false;
    const known = dangerousKeys(was, comparison);
    return known !== undefined && isSameConfig(known, keys);
  });
}

function isSameContent(was: Entry, is: Entry): boolean {
  if (was.kind !== is.kind || was.within !== is.within || is.links > 1) return false;
  if (is.kind === 'link') return was.target === is.target;
  return was.mode === is.mode && was.bytes !== undefined && is.bytes !== undefined && was.bytes.equals(is.bytes);
}

function removed(was: Entry, comparison: Comparison): FoundChange | undefined {
  const { path, root, rule, reason } = was;
  const { before, after, isDirectory } = comparison;
  const isParentGone = !isDirectory(dirname(path));
  switch (rule) {
    case 'whole':
      // Its directory was renamed, and it is where that went.
      if (isParentGone && [...after.entries.values()].some((is) => isSameContent(was, is))) return undefined;
      break;
    case 'pointer':
      // A worktree was removed.
      if (isParentGone) return undefined;
      break;
    case 'hooks':
    case 'config': {
      // The innermost: a submodule's lies in that of the whole.
      const repository = [...before.gitDirectories]
        .filter((each) => path.startsWith(`${each}/`))
        .toSorted((a, b) => b.length - a.length)[0];
      if (was.kind === 'directory') return undefined;
      // The repository went with them: nothing is left that would run them, or do without them.
      if (repository === undefined ? isParentGone : !after.gitDirectories.has(repository)) return undefined;
    }
  }
  return { path, root, what: 'removed', reason, before: was, rewritten: undefined };
}

function changed(was: Entry, is: Entry, comparison: Comparison): FoundChange | undefined {
  const { path, root, rule } = was;
  const found = { path, root, before: was, rewritten: undefined };
  if (was.kind !== is.kind) return { ...found, what: 'replaced', reason: was.reason };
  // Directories differ by what is in them.
  if (was.kind === 'directory' || was.kind === 'other') return undefined;
  // SECURITY: T-15 — through another name of the file the next run would write it.
  if (is.links > was.links && is.kind === 'file') {
    return { ...found, what: 'replaced', reason: `${was.reason} The file has another name now.` };
  }
  if (was.stamp === is.stamp && was.mode === is.mode) return undefined;
  if (rule === 'config') return changedConfig(was, is, comparison);
  if (is.kind === 'link') {
    if (was.target === is.target || (rule === 'pointer' && leadsInside(is, comparison))) return undefined;
    return { ...found, what: 'replaced', reason: was.reason };
  }
  const isSame =
    was.bytes !== undefined && is.bytes !== undefined && was.bytes.equals(is.bytes) && was.mode === is.mode;
  if (isSame || (rule === 'pointer' && leadsInside(is, comparison))) return undefined;
  return { ...found, what: 'changed', reason: was.reason };
}

function changedConfig(was: Entry, is: Entry, comparison: Comparison): FoundChange | undefined {
  const [before, after] = [dangerousKeys(was, comparison), dangerousKeys(is, comparison)];
  if (before !== undefined && after !== undefined && isSameConfig(before, after)) return undefined;
  // Nobody could read it before, either.
  if (before === undefined && was.bytes !== undefined && is.bytes !== undefined && was.bytes.equals(is.bytes))
    return undefined;
  const { path, root } = was;
  const news = after?.filter((each) => before?.some((other) => isSameConfig([each], [other])) !== true);
  const reason = news?.length === 0 ? 'A key was taken out that is not known to be harmless.' : describeKeys(news);
  return { path, root, what: 'changed', reason, before: was, rewritten: undefined };
}
