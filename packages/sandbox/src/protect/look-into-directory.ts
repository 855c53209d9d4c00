import { foldName, type Hold, NAME_TREE, type NameNode } from './protected-names.ts';

/** What is compared before and after, and what counts as a change. */
export type Rule =
  /** Everything at and below it. */
  | 'whole'
  /** Programs that git runs by their names: samples are none, and an empty directory holds none. */
  | 'hooks'
  /** Keys that are not known to be harmless. */
  | 'config'
  /** A `.git` that is no directory, or the `commondir` of a worktree: where it leads. */
  | 'pointer'
  /** Passed on the way to one of the others: only where it leads, and not what is there. */
  | 'link'
  /** Steps and options of a rebase, or of picks, that have not ended: programs among them. */
  | 'todo';

export interface Sighting {
  readonly path: string;
  readonly rule: Rule;
  readonly hold: Hold;
  readonly reason: string;
}

export interface Listed {
  readonly name: string;
  readonly kind: 'directory' | 'link' | 'file';
}

export interface Below {
  readonly name: string;
  readonly path: string;
  readonly node: NameNode | undefined;
}

/** What one directory says of itself. */
export interface Look {
  /** Directories that are looked into as well, and what they lead to. */
  readonly below: readonly Below[];
  readonly sightings: readonly Sighting[];
  readonly isGitDirectory: boolean;
  /** A repository, or what git keeps of a worktree: where a pointer may lead. */
  readonly isGitTarget: boolean;
}

export interface Surroundings {
  readonly path: string;
  /** Of the directory itself: `workflows` counts in a `.github`. */
  readonly node: NameNode | undefined;
  /** Installed by a package manager: whoever may write code there needs no instructions beside it. Git counts anyway. */
  readonly isBulk: boolean;
  /** Whether two names in this directory are one file, as they are where the file system folds case. */
  isSame(one: string, other: string): boolean;
}

const HOOKS_REASON = 'Git runs it.';
const CONFIG_REASON = 'Git starts programs that it names.';
const TODO_REASON = 'Git runs programs that it names when the rebase, or the series of picks, goes on.';
const POINTER_REASON = 'Git reads the repository where it leads.';

/** Pure but for `isSame`, which is asked only of names that differ in case or form. */
export function lookIntoDirectory(entries: readonly Listed[], around: Surroundings): Look {
  const folded = Map.groupBy(entries, ({ name }) => foldName(name));
  const find = (wanted: string) => folded.get(foldName(wanted))?.find(({ name }) => isCalled(name, wanted, around));
  // SECURITY: T-44 — not by the name `.git`: a file may call any directory a repository, and a bare one has any name. A
  // worktree's HEAD may lie elsewhere, so it does not count.
  const isGitDirectory = find('objects') !== undefined && find('refs') !== undefined;
  const isWorktree = find('HEAD') !== undefined && find('commondir') !== undefined;
  // SECURITY: T-45 — what lies in a `.git` that is no repository yet is git's as soon as somebody says `git init`.
  const isGitByName = isNamedGit(entries, around);
  const names = entries.flatMap((entry) => byName(entry, around));
  const sightings = [
    ...names,
    ...(isGitDirectory || isWorktree || isGitByName ? gitSightings(find, around.path) : []),
    ...pointerSightings(find, around.path),
  ];
  // SECURITY: T-44 — hooks too may hold a repository, so they are looked into like any other directory.
  const taken = new Set(sightings.filter(({ rule }) => rule === 'whole').map(({ path }) => path));
  const below = entries
    .filter(({ name, kind }) => kind === 'directory' && !taken.has(`${around.path}/${name}`))
    .map(({ name }) => ({ name, path: `${around.path}/${name}`, node: nodeOf(name, around) }));
  return { below, sightings, isGitDirectory, isGitTarget: isGitDirectory || isWorktree };
}

/** Git's own, as they are compared. */
const GIT_NAMES: ReadonlySet<string> = new Set(
  [
    'objects',
    'refs',
    'HEAD',
    'commondir',
    'hooks',
    'config',
    'config.worktree',
    'rebase-merge',
    'sequencer',
    '.git',
  ].map(foldName),
);

/** Whether a look changes when it is left out. */
export function isOfInterest({ name, kind }: Listed, node: NameNode | undefined): boolean {
  if (kind === 'directory') return true;
  const folded = foldName(name);
  return NAME_TREE.names.has(folded) || GIT_NAMES.has(folded) || node?.names.has(folded) === true;
}

/** Of two names that fold to one. */
function isCalled(name: string, wanted: string, { isSame }: Surroundings): boolean {
  if (name === wanted) return true;
  // SECURITY: T-15 — `.GIT` is `.git` where the file system says so, and only there: docs/agents.md is a document.
  return isSame(name, wanted);
}

/** Its own name is seen from above only; what folds case in it does so there, too. */
function isNamedGit(entries: readonly Listed[], { path, isSame }: Surroundings): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (name === '.git') return true;
  if (foldName(name) !== foldName('.git')) return false;
  return entries.some(
    (entry) => entry.name !== entry.name.toUpperCase() && isSame(entry.name, entry.name.toUpperCase()),
  );
}

function nodeOf(name: string, around: Surroundings): NameNode | undefined {
  if (around.isBulk) return undefined;
  const folded = foldName(name);
  const node = around.node?.names.get(folded) ?? NAME_TREE.names.get(folded);
  if (node === undefined) return undefined;
  // The spelling of the list, or one that this file system takes for it.
  return isCalled(name, SPELLINGS.get(folded) ?? folded, around) ? node : undefined;
}

function byName({ name, kind }: Listed, around: Surroundings): readonly Sighting[] {
  const node = nodeOf(name, around);
  if (node === undefined) return [];
  const path = `${around.path}/${name}`;
  if (node.found !== undefined) {
    const { hold, reason } = node.found;
    return [{ path, rule: 'whole', hold, reason }];
  }
  // A link to a directory that holds one of the names is as good as that directory.
  return kind === 'link' ? [{ path, rule: 'whole', hold: 'never', reason: 'It leads to a protected path.' }] : [];
}

function gitSightings(find: (wanted: string) => Listed | undefined, at: string): readonly Sighting[] {
  const sight = (wanted: string, rule: Rule, reason: string): readonly Sighting[] => {
    const found = find(wanted);
    // Of a directory git reads none: this one only looks like a repository.
    if (found === undefined || (found.kind === 'directory' && rule !== 'hooks')) return [];
    return [{ path: `${at}/${found.name}`, rule, hold: 'never', reason }];
  };
  return [
    ...sight('hooks', 'hooks', HOOKS_REASON),
    ...sight('config', 'config', CONFIG_REASON),
    ...sight('config.worktree', 'config', CONFIG_REASON),
    ...sight('commondir', 'pointer', POINTER_REASON),
    ...todoSightings(find('rebase-merge'), at, ['git-rebase-todo', 'strategy']),
    ...todoSightings(find('sequencer'), at, ['opts']),
  ];
}

/** SECURITY: T-45 — whoever finds a rebase that has not ended says `--continue`, and runs what it names. */
function todoSightings(found: Listed | undefined, at: string, names: readonly string[]): readonly Sighting[] {
  if (found === undefined || found.kind === 'file') return [];
  const path = `${at}/${found.name}`;
  // Git makes a directory.
  if (found.kind === 'link') return [{ path, rule: 'whole', hold: 'never', reason: TODO_REASON }];
  return names.map((name) => ({ path: `${path}/${name}`, rule: 'todo', hold: 'never', reason: TODO_REASON }));
}

function pointerSightings(find: (wanted: string) => Listed | undefined, at: string): readonly Sighting[] {
  const found = find('.git');
  if (found === undefined || found.kind === 'directory') return [];
  return [{ path: `${at}/${found.name}`, rule: 'pointer', hold: 'where_free', reason: POINTER_REASON }];
}

/** From folded names to how the list writes them. */
export const SPELLINGS: ReadonlyMap<string, string> = spellings(NAME_TREE);

function spellings({ names, found }: NameNode): ReadonlyMap<string, string> {
  const last = found?.name.split('/').at(-1);
  const own: (readonly [string, string])[] = last === undefined ? [] : [[foldName(last), last]];
  return new Map([...own, ...[...names.values()].flatMap((node) => [...spellings(node)])]);
}
