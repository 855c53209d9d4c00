import { createHash } from 'node:crypto';
import { type BigIntStats, lstatSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { openWithoutWaiting } from '../survey/open-without-waiting.ts';

/** All that the guard asks of a file system. No method throws: what cannot be answered says so and is refused later. */
export interface ProgramFiles {
  /** Of the path itself: a link is not followed. */
  look(path: string): FileLook;
  /** Undefined when the file cannot be read. */
  firstBytes(path: string, count: number): Uint8Array | undefined;
  /** Hexadecimal; undefined when the file cannot be read. */
  sha256(path: string): string | undefined;
  /** Names in a directory; empty when it cannot be read. */
  list(path: string): readonly string[];
  /** The directories of the tool's PATH, absolute, in order. */
  readonly searchPath: readonly string[];
}

export type FileLook =
  | { readonly kind: 'absent' }
  /** It may exist: the directory above does not tell. */
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'link'; readonly target: string }
  | (FileStamp & { readonly kind: 'directory' | 'file' | 'other' });

/** Changes whenever the content does; a tool cannot set `changed`. */
export interface FileStamp {
  readonly device: bigint;
  readonly inode: bigint;
  readonly size: bigint;
  /** In nanoseconds. */
  readonly modified: bigint;
  readonly changed: bigint;
}

const MOST_DIGESTS = 1000;

/** Synchronous: a check that yields between look and answer gives a tool time to change what was looked at. */
export function createProgramFiles(searchPath: readonly string[]): ProgramFiles {
  const digests = new Map<string, string>();
  return {
    searchPath,
    look: (path) => lookAt(path),
    firstBytes: (path, count) => attempt(() => readStart(path, count)),
    list: (path) => attempt(() => readdirSync(path)) ?? [],
    sha256(path) {
      const look = lookAt(path);
      if (look.kind !== 'file') return undefined;
      const key = stampKey(look);
      const digest = digests.get(key) ?? attempt(() => digestOf(path));
      if (digests.size >= MOST_DIGESTS) digests.clear();
      if (digest !== undefined) digests.set(key, digest);
      return digest;
    },
  };
}

/** Looks once at each path: one check sees one state, and most of its time is system calls. */
export function rememberLooks(files: ProgramFiles): ProgramFiles {
  const looks = new Map<string, FileLook>();
  return {
    ...files,
    look(path) {
      const look = looks.get(path) ?? files.look(path);
      looks.set(path, look);
      return look;
    },
  };
}

export function stampKey({ device, inode, size, modified, changed }: FileStamp): string {
  return [device, inode, size, modified, changed].join(' ');
}

function lookAt(path: string): FileLook {
  try {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return { kind: 'absent' };
    if (stats.isSymbolicLink()) return { kind: 'link', target: readlinkSync(path) };
    return { kind: kindOf(stats), ...stampOf(stats) };
  } catch (error) {
    // SECURITY: T-12 — only what is certainly absent is absent; anything else is refused by whoever asked.
    return { kind: isAbsence(error) ? 'absent' : 'unreadable' };
  }
}

function kindOf(stats: BigIntStats): 'directory' | 'file' | 'other' {
  if (stats.isDirectory()) return 'directory';
  return stats.isFile() ? 'file' : 'other';
}

function stampOf(stats: BigIntStats): FileStamp {
  return {
    device: stats.dev,
    inode: stats.ino,
    size: stats.size,
    modified: stats.mtimeNs,
    changed: stats.ctimeNs,
  };
}

function isAbsence(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

function readStart(path: string, count: number): Uint8Array {
  return openWithoutWaiting(path, (fd) => {
    const bytes = new Uint8Array(count);
    return bytes.subarray(0, readSync(fd, bytes, 0, count, 0));
  });
}

function digestOf(path: string): string {
  return openWithoutWaiting(path, (fd) => createHash('sha256').update(readFileSync(fd)).digest('hex'));
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
