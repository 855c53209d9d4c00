import { posix } from 'node:path';
import { createFollower, pathFrom } from '../protect/follow-path.ts';
import { type ConfigEntry, parseGitConfig } from '../protect/git-config.ts';
import { namedByPointer } from '../protect/git-pointer.ts';
import { isHarmless, keyOf } from '../protect/harmless-git-config.ts';
import { GIT_SETTINGS } from '../tool-git-settings.ts';
import type { ProgramFiles } from './program-files.ts';
import { isWithin, resolvePath } from './resolve-path.ts';

export interface GitPlace {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly tier: 'B' | 'C';
  /** Where an agent may write. What lies above is the operator's. */
  readonly roots: readonly string[];
  readonly files: ProgramFiles;
}

/**
 * The key by which a repository's configuration may have git start a program; undefined when there is none. Filters, drivers
 * and `diff.external` need no argument: `git add` starts a filter, `git diff` the others. Submodules are not looked into.
 */
export function programOfGitConfig({ argv, cwd, tier, roots, files }: GitPlace): string | undefined {
  const isAnswered = (entry: ConfigEntry) =>
    // An alias is no subcommand that a guarded git may be given.
    entry.section === 'alias' || (tier === 'B' && TOLD_OTHERWISE.has(keyOf(entry)));
  const all = configurations({ argv, cwd, roots, files });
  if (all === undefined) return 'config, which cannot be found';
  const follow = createFollower(roots);
  for (const path of all) {
    const entries = parseGitConfig(textOf(path, files) ?? UNREADABLE);
    if (entries === undefined) return `${posix.basename(path)}, which cannot be read`;
    const found = entries.find((entry) => !isHarmless(entry, { path, roots, follow }) && !isAnswered(entry));
    if (found !== undefined) return keyOf(found);
  }
  return undefined;
}

const TOLD_OTHERWISE: ReadonlySet<string> = new Set(Object.keys(GIT_SETTINGS).map((key) => key.toLowerCase()));
/** No configuration to anybody. */
const UNREADABLE = '[';

/** SECURITY: T-13 — undefined where git may find one that we do not: then there may be anything in it. */
function configurations({ argv, cwd, roots, files }: Omit<GitPlace, 'tier'>): readonly string[] | undefined {
  const starts = startsOf(argv, cwd, files);
  const tops = roots.flatMap((root) => realPath(root, files) ?? []);
  if (!areKnown(starts)) return undefined;
  const directories = new Set(starts.flatMap((start) => upTo(tops, start)));
  const places = [...directories].map((directory) => gitDirectoriesAt(directory, files));
  if (!areKnown(places)) return undefined;
  return places
    .flat()
    .flatMap((place) => [`${place}/config`, `${place}/config.worktree`])
    .filter((path) => files.look(path).kind !== 'absent');
}

function areKnown<Found>(all: readonly (Found | undefined)[]): all is readonly Found[] {
  return !all.includes(undefined);
}

/** Where it begins to look for a repository: each `-C` counts from the one before, and links lead where they lead. */
function startsOf(argv: readonly string[], cwd: string, files: ProgramFiles): readonly (string | undefined)[] {
  const found = [realPath(cwd, files)];
  for (const [at, word] of argv.entries()) {
    const [before = cwd, to = '.'] = [found.at(-1), argv[at + 1]];
    if (word === '-C') found.push(realPath(pathFrom(before, to), files));
  }
  return found;
}

/** Git itself fails where there is nothing. Undefined where it may be led elsewhere than we are, as by /proc/self. */
function realPath(path: string, files: ProgramFiles): string | undefined {
  const resolved = resolvePath(path, files);
  return resolved.kind === 'unresolvable' ? undefined : resolved.path;
}

function upTo(tops: readonly string[], from: string): readonly string[] {
  if (from === '/' || !tops.some((top) => isWithin(from, top))) return [];
  return [from, ...upTo(tops, posix.dirname(from))];
}

/** Also of a worktree or a submodule, whose `.git` is a file, and of a directory that is a repository itself. */
function gitDirectoriesAt(directory: string, files: ProgramFiles): readonly string[] | undefined {
  const has = (name: string) => files.look(`${directory}/${name}`).kind !== 'absent';
  const isBare = has('HEAD') && ((has('objects') && has('refs')) || has('commondir'));
  const own = has('.git') ? ledTo(directory, '.git', files) : [];
  if (own === undefined) return undefined;
  const all = [...own, ...(isBare ? [directory] : [])];
  const common = all.map((each) =>
    files.look(`${each}/commondir`).kind === 'absent' ? [] : ledTo(each, 'commondir', files),
  );
  return areKnown(common) ? [...all, ...common.flat()] : undefined;
}

/** The directory itself, or the one that a file of that name leads to. */
function ledTo(directory: string, name: '.git' | 'commondir', files: ProgramFiles): readonly string[] | undefined {
  const at = resolvePath(`${directory}/${name}`, files);
  if (at.kind === 'unresolvable') return undefined;
  if (at.kind === 'absent') return [];
  if (at.look.kind === 'directory') return [at.path];
  const named = namedByPointer(name, textOf(at.path, files) ?? '');
  // Bytes that are no text, for which there is no path here.
  if (named === undefined || named.includes('\ufffd')) return undefined;
  const target = realPath(pathFrom(directory, named), files);
  return target === undefined ? undefined : [target];
}

const LONGEST = 256 * 1024;

function textOf(path: string, files: ProgramFiles): string | undefined {
  const bytes = files.firstBytes(path, LONGEST + 1);
  return bytes === undefined || bytes.length > LONGEST
    ? undefined
    : new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
