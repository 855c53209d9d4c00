import { basename, dirname, join, resolve } from 'node:path';
import { isAtOrBelow, type SurveyFiles } from './survey-files.ts';

export interface GitDirectories {
  /** Outside the workspace and needed by git inside it. */
  readonly directories: readonly string[];
  /** Why git will not work there, when that is so. */
  readonly remark: string | undefined;
}

const NONE: GitDirectories = { directories: [], remark: undefined };

/**
 * A worktree's `.git` is a file that names a directory in the repository's own `.git`. `root` is resolved.
 *
 * SECURITY: T-14 — the agent writes that file, and whatever it names would be mounted: so the repository must name this
 * worktree too, in a place that the agent could not write before. Whatever is not exactly so is not mounted.
 */
export function gitDirectoriesOf(root: string, files: SurveyFiles): GitDirectories {
  const pointer = join(root, '.git');
  const found = files.lstat(pointer);
  if (found === undefined || found.kind === 'directory') return NONE;
  if (found.kind !== 'file') return without('Its .git is a link, which is not followed.');

  const named = oneLine(files.readText(pointer), 'gitdir: ');
  const admin = named === undefined ? undefined : files.realPath(resolve(root, named));
  if (admin === undefined) return without('Its .git file names no directory.');
  if (isAtOrBelow(admin, root)) return NONE;

  const common = commonDirectoryOf(admin, files);
  if (common === undefined) return without('Its .git file names no worktree of a repository.');
  if (!pointsBack({ admin, pointer, files }))
    return without('The repository that its .git file names has no such worktree.');
  const owner = files.stat(root)?.uid;
  // SECURITY: T-19 — another user's repository may name any path as its worktree.
  if ([common, admin, join(admin, 'gitdir')].some((path) => files.lstat(path)?.uid !== owner)) {
    return without('The repository that its .git file names belongs to somebody else.');
  }
  // A worktree inside its own repository's .git would show that directory twice, and one that holds it already shows it.
  if (isAtOrBelow(root, common)) return without('It lies inside its own repository’s .git.');
  return isAtOrBelow(common, root) ? NONE : { directories: [common], remark: undefined };
}

/** Git always makes `<common>/worktrees/<name>`; no other layout is believed. */
function commonDirectoryOf(admin: string, files: SurveyFiles): string | undefined {
  const common = dirname(dirname(admin));
  if (basename(dirname(admin)) !== 'worktrees' || files.stat(admin)?.kind !== 'directory') return undefined;
  const named = oneLine(files.readText(join(admin, 'commondir')));
  if (named === undefined || files.realPath(resolve(admin, named)) !== common) return undefined;
  const isRepository =
    files.lstat(join(common, 'HEAD'))?.kind === 'file' &&
    files.lstat(join(common, 'config'))?.kind === 'file' &&
    files.lstat(join(common, 'objects'))?.kind === 'directory' &&
    files.lstat(join(common, 'refs'))?.kind === 'directory';
  return isRepository ? common : undefined;
}

function pointsBack({ admin, pointer, files }: { admin: string; pointer: string; files: SurveyFiles }): boolean {
  const path = join(admin, 'gitdir');
  // A link here could lead to a text that the agent wrote.
  if (files.lstat(path)?.kind !== 'file') return false;
  const named = oneLine(files.readText(path));
  return named !== undefined && files.realPath(resolve(admin, named)) === pointer;
}

function oneLine(text: string | undefined, prefix = ''): string | undefined {
  const line = text?.replace(/\r?\n$/, '');
  if (line === undefined || !line.startsWith(prefix) || /[\n\r\0]/.test(line)) return undefined;
  const rest = line.slice(prefix.length);
  return rest === '' ? undefined : rest;
}

function without(remark: string): GitDirectories {
  return { directories: [], remark };
}
