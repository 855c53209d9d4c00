import { constants, lstatSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { openWithoutWaiting } from './open-without-waiting.ts';

/** What a survey looks at. Nothing here throws: what cannot be read is not there. */
export interface SurveyFiles {
  /** Every link resolved. */
  realPath(path: string): string | undefined;
  /** Of what a link points to. */
  stat(path: string): FileFacts | undefined;
  /** Of the link itself. */
  lstat(path: string): FileFacts | undefined;
  /** Names in a directory, sorted. */
  list(path: string): readonly string[];
  /** Undefined also for what is longer than any file that a survey reads. */
  readText(path: string): string | undefined;
  /** The same for a program's own state, which is longer. */
  readBytes(path: string): Uint8Array | undefined;
}

export interface FileFacts {
  readonly kind: 'directory' | 'file' | 'link' | 'other';
  readonly uid: number;
  readonly gid: number;
  /** Permission bits. */
  readonly mode: number;
}

const LONGEST_TEXT = 64 * 1024;
const LONGEST_STATE = 8 * 1024 * 1024;
const NOT_THERE = { throwIfNoEntry: false } as const;

export const hostSurveyFiles: SurveyFiles = {
  // Most of what is asked for is not there, and an exception costs ten times as much as the answer.
  realPath: (path) => attempt(() => (lstatSync(path, NOT_THERE) === undefined ? undefined : realpathSync.native(path))),
  stat: (path) => attempt(() => factsOf(statSync(path, NOT_THERE))),
  lstat: (path) => attempt(() => factsOf(lstatSync(path, NOT_THERE))),
  list: (path) => attempt(() => readdirSync(path).toSorted()) ?? [],
  readText: (path) =>
    attempt(() =>
      openWithoutWaiting(path, (fd, { size }) => (size <= LONGEST_TEXT ? readFileSync(fd, 'utf8') : undefined)),
    ),
  readBytes: (path) =>
    attempt(() =>
      openWithoutWaiting(
        path,
        (fd, { size }) => (size <= LONGEST_STATE ? readFileSync(fd) : undefined),
        constants.O_NOFOLLOW,
      ),
    ),
};

/** For one look: half of the answers is the operator's home, over and over. */
export function withRememberedPaths(files: SurveyFiles): SurveyFiles {
  const known = new Map<string, string | undefined>();
  return {
    ...files,
    realPath(path) {
      if (!known.has(path)) known.set(path, files.realPath(path));
      return known.get(path);
    },
  };
}

/** Also for what does not exist yet: the nearest ancestor that does is resolved. */
export function resolvePath(files: Pick<SurveyFiles, 'realPath'>, path: string): string {
  const plain = trimmed(normalize(path));
  const real = files.realPath(plain);
  if (real !== undefined || plain === '/' || plain === '.') return real ?? plain;
  return join(resolvePath(files, dirname(plain)), plain.slice(plain.lastIndexOf('/') + 1));
}

export function isAtOrBelow(path: string, ancestor: string): boolean {
  return ancestor === '/' || path === ancestor || path.startsWith(`${ancestor}/`);
}

function trimmed(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}

function factsOf(stats: Stats | undefined): FileFacts | undefined {
  if (stats === undefined) return undefined;
  return { kind: kindOf(stats), uid: stats.uid, gid: stats.gid, mode: stats.mode & 0o7777 };
}

function kindOf(stats: Stats): FileFacts['kind'] {
  if (stats.isDirectory()) return 'directory';
  if (stats.isFile()) return 'file';
  return stats.isSymbolicLink() ? 'link' : 'other';
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
