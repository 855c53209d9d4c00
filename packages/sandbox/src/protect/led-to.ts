import { basename, dirname, isAbsolute, join } from 'node:path';
import { isAtOrBelow } from '../survey/survey-files.ts';
import { createFollower, type FollowPath, pathFrom } from './follow-path.ts';
import type { ConfigEntry } from './git-config.ts';
import { configOf, dangerousKeys, type JudgeContext, pointedAt } from './judge-entry.ts';
import type { Sighting } from './look-into-directory.ts';
import { fromBytes } from './path-bytes.ts';
import type { Entry } from './read-entries.ts';
import type { Scan } from './scan-tree.ts';

export interface LedToContext extends JudgeContext {
  /** The operator's, for paths that begin with `~/`. */
  readonly home: string;
}

/** What a scan has found so far. */
export type Found = Pick<Scan, 'entries' | 'gitTargets'>;

/**
 * What the operator's own links and configuration lead to inside the workspace: the file behind `CLAUDE.md -> docs/ai.md`,
 * the directory of `core.hooksPath`, an included configuration. Also where nothing is yet, and every link on the way. What
 * is found there may lead further, so it is asked again when that was read.
 */
export function* pathsLedTo({ entries, gitTargets }: Found, context: LedToContext): Generator<undefined, Sighting[]> {
  const { roots } = context;
  const follow = createFollower(roots);
  const found = new Map<string, Sighting>();
  const add = (sighting: Sighting) => {
    const isInside = roots.some((root) => sighting.path !== root && isAtOrBelow(sighting.path, root));
    if (isInside && !entries.has(sighting.path)) found.set(sighting.path, sighting);
  };
  // SECURITY: T-15 — a link in the middle of the way says where it ends as much as the first one does.
  const addWay = (sighting: Sighting): string => {
    const { links, end } = follow(sighting.path);
    for (const path of links) add({ path, rule: 'link', hold: 'never', reason: sighting.reason });
    add({ ...sighting, path: end });
    return end;
  };
  for (const entry of entries.values()) {
    yield undefined;
    for (const each of behindLink(entry)) addWay(each);
    for (const each of linksOfPointer(entry, follow)) add(each);
  }
  const trees = yield* workTreesIn({ entries, gitTargets }, follow);
  const waiting = configurationsOf(entries, gitTargets);
  const seen = new Set<string>();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    yield undefined;
    const end = addWay({ path: next.name, rule: 'config', hold: 'never', reason: CONFIG_REASON });
    // One file has as many names as there are ways around, and only so many directories that it is named in.
    const own = { ...next, name: `${follow(dirname(next.name)).end}/${basename(next.name)}` };
    const key = `${own.name}\0${own.gitDirectory}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const keys = keysIn(entries.get(end));
    for (const path of hooksPaths(keys, own, { trees, entries, context })) {
      addWay({ path, rule: 'hooks', hold: 'where_free', reason: 'Git runs it.' });
    }
    // SECURITY: T-14, T-15 — git checks out where it leads, so nothing on the way is exchanged for a link.
    for (const path of checkoutsOf(keys, own)) {
      const top = addWay({ path, ...CHECKOUT });
      for (const above of directoriesAbove(top, roots)) add({ path: above, ...CHECKOUT });
    }
    for (const name of includedBy(keys, own, context)) waiting.push({ ...own, name });
  }
  return [...found.values()];
}

const CONFIG_REASON = 'Git starts programs that it names.';
const CHECKOUT = { rule: 'link', hold: 'never', reason: 'Git writes files where it leads.' } as const;

/**
 * Those of before, and where they lead from what came since and is left as it is: work trees, repositories that were
 * renamed, links that are copies.
 */
export function* ledToAfter(
  before: Found & Pick<Scan, 'ledTo'>,
  after: Found,
  asked: LedToContext,
): Generator<undefined, readonly Sighting[]> {
  const context = { ...asked, follow: createFollower(asked.roots) };
  const moved = yield* movedKeys(before, after, context);
  const links = new Set([...before.entries.values()].filter(({ kind }) => kind === 'link').map(linkKey));
  const isLeft = (entry: Entry) => {
    if (entry.rule === 'pointer') return true;
    if (entry.kind === 'link') return links.has(linkKey(entry));
    return entry.rule === 'config' && moved.has(JSON.stringify(dangerousKeys(entry, context)));
  };
  const news = new Map<string, Entry>();
  for (const [path, entry] of after.entries) {
    if (before.entries.has(path)) continue;
    yield undefined;
    if (isLeft(entry)) news.set(path, entry);
  }
  if (news.size === 0) return before.ledTo;
  const gitTargets = new Set([...before.gitTargets, ...after.gitTargets]);
  const all = yield* pathsLedTo({ entries: new Map([...before.entries, ...news]), gitTargets }, context);
  return [...new Map([...all, ...before.ledTo].map((each) => [each.path, each])).values()];
}

/** SECURITY: T-15 — of configurations that are somewhere else now: they are believed there, so what they name counts there. */
export function* movedKeys(
  before: Pick<Scan, 'entries'>,
  after: Pick<Scan, 'entries'>,
  context: JudgeContext,
): Generator<undefined, ReadonlySet<string>> {
  const moved = new Set<string>();
  for (const [path, was] of before.entries) {
    if (was.rule !== 'config' || after.entries.has(path)) continue;
    yield undefined;
    moved.add(JSON.stringify(dangerousKeys(was, context)));
  }
  return moved;
}

function linkKey({ within, target }: Entry): string {
  return `${within}\0${target}`;
}

function keysIn(entry: Entry | undefined): readonly ConfigEntry[] {
  return entry?.bytes === undefined ? [] : (configOf(entry.bytes) ?? []);
}

function behindLink({ path, target, rule, reason }: Entry): readonly Sighting[] {
  if (target === undefined || rule === 'pointer' || rule === 'link') return [];
  const hold = rule === 'config' ? 'never' : 'where_free';
  return [{ path: pathFrom(dirname(path), target), rule, hold, reason }];
}

/** Where a pointer ends is a repository, which is found by itself. */
function linksOfPointer(entry: Entry, follow: FollowPath): readonly Sighting[] {
  const named = entry.rule === 'pointer' ? (entry.target ?? pointedAt(entry)) : undefined;
  if (named === undefined) return [];
  const { links } = follow(pathFrom(dirname(entry.path), named));
  return links.map((path) => ({ path, rule: 'link', hold: 'never', reason: entry.reason }));
}

interface WorkTree {
  readonly path: string;
  /** Where its `.git` leads. */
  readonly gitDirectory: string;
}

/** By each repository that their `.git` leads to or into. */
type WorkTrees = ReadonlyMap<string, readonly WorkTree[]>;

function* workTreesIn({ entries, gitTargets }: Found, follow: FollowPath): Generator<undefined, WorkTrees> {
  const trees = new Map<string, WorkTree[]>();
  const targetsAbove = new Map<string, readonly string[]>();
  for (const entry of entries.values()) {
    if (entry.rule !== 'pointer') continue;
    yield undefined;
    const named = entry.kind === 'link' ? entry.target : pointedAt(entry);
    if (named === undefined) continue;
    const path = dirname(entry.path);
    const gitDirectory = follow(pathFrom(path, named)).end;
    // SECURITY: T-39 — not every directory above it: there may be a thousand, and thousands of pointers.
    const above = targetsAbove.get(gitDirectory) ?? [...upFrom(gitDirectory)].filter((at) => gitTargets.has(at));
    targetsAbove.set(gitDirectory, above);
    for (const at of above) {
      const there = trees.get(at) ?? [];
      there.push({ path, gitDirectory });
      trees.set(at, there);
    }
  }
  return trees;
}

function* upFrom(path: string): Generator<string, void> {
  for (let at = path; at.length > 1; at = dirname(at)) yield at;
}

/** One configuration, as git comes to it. */
interface Configuration {
  /** Git takes what it includes from beside this name, whatever link that is. */
  readonly name: string;
  readonly gitDirectory: string | undefined;
}

function configurationsOf(entries: ReadonlyMap<string, Entry>, gitTargets: ReadonlySet<string>): Configuration[] {
  const ofRepositories = [...gitTargets].flatMap((gitDirectory) =>
    ['config', 'config.worktree'].map((name) => ({ name: `${gitDirectory}/${name}`, gitDirectory })),
  );
  const ofHomes = [...entries.keys()]
    .filter((path) => /\/(?:\.gitconfig|\.config\/git\/config)$/.test(path))
    .map((name) => ({ name, gitDirectory: undefined }));
  return [...ofRepositories, ...ofHomes].filter(({ name }) => entries.has(name));
}

interface Surrounding {
  readonly trees: WorkTrees;
  readonly entries: ReadonlyMap<string, Entry>;
  readonly context: LedToContext;
}

function hooksPaths(
  keys: readonly ConfigEntry[],
  { gitDirectory }: Configuration,
  { trees, entries, context }: Surrounding,
): readonly string[] {
  const named = keys.filter(({ section, key }) => section === 'core' && key === 'hookspath');
  return named.flatMap(({ value }) => {
    const path = pathIn(value, context);
    if (path === undefined || isAbsolute(path)) return path ?? [];
    if (gitDirectory === undefined) return [];
    const all = [...keys, ...keysIn(entries.get(`${gitDirectory}/config`))];
    return workTreesOf(gitDirectory, all, trees).map((tree) => `${tree}/${path}`);
  });
}

function checkoutsOf(
  keys: readonly ConfigEntry[],
  { gitDirectory }: Pick<Configuration, 'gitDirectory'>,
): readonly string[] {
  if (gitDirectory === undefined) return [];
  const named = keys.filter(({ section, key }) => section === 'core' && key === 'worktree');
  return named.map(({ value = '' }) => pathFrom(gitDirectory, value));
}

/** Below what may be written. */
function directoriesAbove(path: string, roots: readonly string[]): readonly string[] {
  const above = dirname(path);
  return roots.some((root) => root !== above && isAtOrBelow(above, root))
    ? [above, ...directoriesAbove(above, roots)]
    : [];
}

/** SECURITY: T-15 — `includeIf` under whatever condition: it may be true tomorrow. */
function includedBy(keys: readonly ConfigEntry[], { name }: Configuration, context: LedToContext): readonly string[] {
  const named = keys.filter(({ section, key }) => (section === 'include' || section === 'includeif') && key === 'path');
  return named.flatMap(({ value }) => {
    const path = pathIn(value, context);
    return path === undefined ? [] : pathFrom(dirname(name), path);
  });
}

/** As git takes a path from a configuration. Of other users' homes nothing is known. */
function pathIn(value: string | undefined, { home }: LedToContext): string | undefined {
  if (value === undefined || value === '') return undefined;
  const path = fromBytes(Buffer.from(value, 'latin1'));
  if (!path.startsWith('~')) return path;
  return path.startsWith('~/') ? join(home, path.slice(2)) : undefined;
}

/**
 * SECURITY: T-15, T-45 — hooks are run from the top of the work tree, or in a bare repository, and one configuration is
 * that of all its work trees: the one beside it, the one that it names, and those whose `.git` leads to it or into it.
 */
function workTreesOf(gitDirectory: string, keys: readonly ConfigEntry[], trees: WorkTrees): readonly string[] {
  const beside = basename(gitDirectory) === '.git' ? dirname(gitDirectory) : gitDirectory;
  const linked = trees.get(gitDirectory) ?? [];
  return [beside, ...checkoutsOf(keys, { gitDirectory }), ...linked.map(({ path }) => path)];
}
