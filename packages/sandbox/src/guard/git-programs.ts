import { posix } from 'node:path';
import { type ConfigEntry, parseGitConfig } from '../protect/git-config.ts';
import { isHarmless, keyOf } from '../protect/harmless-git-config.ts';
import { GIT_SETTINGS } from '../tool-git-settings.ts';
import type { ProgramFiles } from './program-files.ts';
import { isWithin, resolvePath } from './resolve-path.ts';

export interface GitPlace {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly tier: 'B' | 'C';
  /** What lies above it is the operator's. */
  readonly workspace: string;
  readonly files: ProgramFiles;
}

/**
 * The key by which a repository's configuration may have git start a program; undefined when there is none. Filters, drivers
 * and `diff.external` need no argument: `git add` starts a filter, `git diff` the others. Submodules are not looked into.
 */
export function programOfGitConfig({ argv, cwd, tier, workspace, files }: GitPlace): string | undefined {
  const isAnswered = (entry: ConfigEntry) =>
    // An alias is no subcommand that a guarded git may be given.
    entry.section === 'alias' || (tier === 'B' && TOLD_OTHERWISE.has(keyOf(entry)));
  for (const path of configurations({ argv, cwd, workspace, files })) {
    const entries = parseGitConfig(textOf(path, files) ?? UNREADABLE);
    if (entries === undefined) return `${posix.basename(path)}, which cannot be read`;
    const found = entries.find((entry) => !isHarmless(entry, { path, roots: [workspace] }) && !isAnswered(entry));
    if (found !== undefined) return keyOf(found);
  }
  return undefined;
}

const TOLD_OTHERWISE: ReadonlySet<string> = new Set(Object.keys(GIT_SETTINGS).map((key) => key.toLowerCase()));
/** No configuration to anybody. */
const UNREADABLE = '[';

function configurations({ argv, cwd, workspace, files }: Omit<GitPlace, 'tier'>): readonly string[] {
  const directories = new Set(startsOf(argv, cwd, files).flatMap((start) => upTo(workspace, start)));
  return [...directories]
    .flatMap((directory) => gitDirectoriesAt(directory, files))
    .flatMap((place) => [`${place}/config`, `${place}/config.worktree`])
    .filter((path) => files.look(path).kind !== 'absent');
}

/** Where it begins to look for a repository: each `-C` counts from the one before, and links lead where they lead. */
function startsOf(argv: readonly string[], cwd: string, files: ProgramFiles): readonly string[] {
  const found = [realPath(cwd, files)];
  for (const [at, word] of argv.entries()) {
    const [before = cwd, to = '.'] = [found.at(-1), argv[at + 1]];
    if (word === '-C') found.push(realPath(posix.isAbsolute(to) ? to : `${before}/${to}`, files));
  }
  return found;
}

/** Git itself fails where there is nothing. */
function realPath(path: string, files: ProgramFiles): string {
  const resolved = resolvePath(path, files);
  return resolved.kind === 'unresolvable' ? posix.resolve(path) : resolved.path;
}

function upTo(workspace: string, from: string): readonly string[] {
  if (!isWithin(from, workspace)) return [];
  return from === workspace ? [from] : [from, ...upTo(workspace, posix.dirname(from))];
}

/** Also of a worktree or a submodule, whose `.git` is a file, and of a directory that is a repository itself. */
function gitDirectoriesAt(directory: string, files: ProgramFiles): readonly string[] {
  const pointer = /^gitdir: *(.+?)\s*$/m.exec(textOf(`${directory}/.git`, files) ?? '')?.[1];
  const own = pointer === undefined ? `${directory}/.git` : posix.resolve(directory, pointer);
  const common = textOf(`${own}/commondir`, files)?.trim();
  const isBare = ['HEAD', 'objects', 'refs'].every((name) => files.look(`${directory}/${name}`).kind !== 'absent');
  return [own, ...(common === undefined ? [] : [posix.resolve(own, common)]), ...(isBare ? [directory] : [])];
}

const LONGEST = 256 * 1024;

function textOf(path: string, files: ProgramFiles): string | undefined {
  const bytes = files.firstBytes(path, LONGEST + 1);
  return bytes === undefined || bytes.length > LONGEST ? undefined : new TextDecoder().decode(bytes);
}
