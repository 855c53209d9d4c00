import { basename, dirname, isAbsolute, resolve } from 'node:path';
import { isAtOrBelow } from '../survey/survey-files.ts';
import { type ConfigEntry, parseGitConfig } from './git-config.ts';
import { type JudgeContext, pointedAt } from './judge-entry.ts';
import type { Sighting } from './look-into-directory.ts';
import type { Entry } from './read-entries.ts';
import type { Scan } from './scan-tree.ts';

/**
 * What the operator's own links and configuration lead to inside the workspace: the file behind `CLAUDE.md -> docs/ai.md`,
 * the directory of `core.hooksPath`, an included configuration. Also where nothing is yet.
 */
export function* pathsLedTo(
  entries: ReadonlyMap<string, Entry>,
  context: JudgeContext,
): Generator<undefined, readonly Sighting[]> {
  const trees = yield* workTreesIn(entries, context);
  const found = new Map<string, Sighting>();
  for (const entry of entries.values()) {
    yield undefined;
    for (const sighting of [...behindLink(entry, context), ...namedInConfig(entry, trees)]) {
      const { path } = sighting;
      const isInside = context.roots.some((root) => path !== root && isAtOrBelow(path, root));
      if (isInside && !entries.has(path)) found.set(path, sighting);
    }
  }
  return [...found.values()];
}

/** Those of before, and where they lead from work trees that came since. */
export function* ledToByNewTrees(
  before: Pick<Scan, 'entries' | 'ledTo'>,
  after: ReadonlyMap<string, Entry>,
  context: JudgeContext,
): Generator<undefined, readonly Sighting[]> {
  const pointers = [...after].filter(([path, { rule }]) => rule === 'pointer' && !before.entries.has(path));
  if (pointers.length === 0) return before.ledTo;
  const all = yield* pathsLedTo(new Map([...before.entries, ...pointers]), context);
  return [...new Map([...all, ...before.ledTo].map((each) => [each.path, each])).values()];
}

interface WorkTree {
  readonly path: string;
  /** Where its `.git` leads. */
  readonly gitDirectory: string;
}

function* workTreesIn(
  entries: ReadonlyMap<string, Entry>,
  { realPath }: JudgeContext,
): Generator<undefined, readonly WorkTree[]> {
  const trees: WorkTree[] = [];
  for (const entry of entries.values()) {
    if (entry.rule !== 'pointer') continue;
    yield undefined;
    const named = entry.kind === 'link' ? entry.target : pointedAt(entry);
    const path = dirname(entry.path);
    if (named !== undefined) trees.push({ path, gitDirectory: realPath(resolve(path, named)) });
  }
  return trees;
}

function behindLink({ path, kind, target, rule, reason }: Entry, { realPath }: JudgeContext): readonly Sighting[] {
  if (kind !== 'link' || target === undefined || rule === 'pointer') return [];
  const hold = rule === 'config' ? 'never' : 'where_free';
  return [{ path: realPath(resolve(dirname(path), target)), rule, hold, reason }];
}

function namedInConfig(entry: Entry, trees: readonly WorkTree[]): readonly Sighting[] {
  if (entry.rule !== 'config' || entry.bytes === undefined) return [];
  const keys = parseGitConfig(entry.bytes.toString('utf8')) ?? [];
  const gitDirectory = dirname(entry.path);
  return keys.flatMap(({ section, key, value = '' }): readonly Sighting[] => {
    if (value === '' || value.startsWith('~')) return [];
    if (section === 'core' && key === 'hookspath') {
      const from = isAbsolute(value) ? ['/'] : workTreesOf(gitDirectory, keys, trees);
      return from.map((tree) => {
        return { path: resolve(tree, value), rule: 'hooks', hold: 'where_free', reason: 'Git runs it.' };
      });
    }
    if ((section === 'include' || section === 'includeif') && key === 'path') {
      const path = resolve(gitDirectory, value);
      return [{ path, rule: 'config', hold: 'never', reason: 'Git starts programs that it names.' }];
    }
    return [];
  });
}

/**
 * SECURITY: T-15, T-45 — hooks are run from the top of the work tree, or in a bare repository, and one configuration is
 * that of all its work trees: the one beside it, the one that it names, and those whose `.git` leads to it or into it.
 */
function workTreesOf(
  gitDirectory: string,
  keys: readonly ConfigEntry[],
  trees: readonly WorkTree[],
): readonly string[] {
  const beside = basename(gitDirectory) === '.git' ? dirname(gitDirectory) : gitDirectory;
  const named = keys.filter(({ section, key }) => section === 'core' && key === 'worktree');
  const linked = trees.filter((tree) => isAtOrBelow(tree.gitDirectory, gitDirectory));
  return [beside, ...named.map(({ value = '' }) => resolve(gitDirectory, value)), ...linked.map(({ path }) => path)];
}
