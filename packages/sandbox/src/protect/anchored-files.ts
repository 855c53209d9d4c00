import { randomBytes } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  readSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { relative } from 'node:path';
import { fromBytes, toBytes } from './path-bytes.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** A name in a directory that is held open: it stays this directory, whatever is renamed above it. */
export interface Anchored {
  /** For calls that do not follow the last name. */
  readonly path: string;
  /** The same for another name in the same directory. */
  beside(name: string): string;
}

export interface FileState {
  readonly kind: 'file' | 'directory' | 'link' | 'other';
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly links: number;
  /** The same as long as nobody wrote, linked, renamed or replaced it. */
  readonly stamp: string;
  readonly changedAtMs: number;
  readonly size: number;
}

export interface AnchoredOptions {
  /** Directories on the way that are missing are made. */
  readonly make?: true;
}

/**
 * SECURITY: T-14 — another sandbox may be writing the same workspace while we read and restore it with our own rights:
 * each directory below `root` is opened by itself, no link is followed, and the act has a directory, not a path. Linux
 * only. Undefined when there is no way there.
 */
export function anchored<T>(
  root: string,
  path: string,
  act: (at: Anchored) => T,
  options: AnchoredOptions = {},
): T | undefined {
  const names = relative(root, path).split('/');
  const last = names.pop() ?? '';
  if (last === '' || last === '..' || names.includes('..')) return undefined;
  let fd: number | undefined;
  try {
    fd = openSync(toBytes(root), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    for (const name of names) {
      const next = step(fd, name, options);
      closeSync(fd);
      fd = next;
      if (fd === undefined) return undefined;
    }
    const directory = `/proc/self/fd/${fd}`;
    return act({ path: `${directory}/${last}`, beside: (name) => `${directory}/${name}` });
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function step(fd: number, name: string, { make }: AnchoredOptions): number | undefined {
  const path = `/proc/self/fd/${fd}/${name}`;
  try {
    return openSync(toBytes(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    if (make === undefined || !isFileError(error) || error.code !== 'ENOENT') return undefined;
  }
  const { uid, gid } = fstatSync(fd);
  return made(path, { mode: 0o755, uid, gid });
}

function made(path: string, { mode, uid, gid }: Omit<Content, 'bytes'>): number {
  mkdirSync(toBytes(path), { mode: 0o700 });
  const fd = openSync(toBytes(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (process.geteuid?.() === 0) fchownSync(fd, uid, gid);
  fchmodSync(fd, mode & 0o777);
  return fd;
}

/** Throws when there is something of that name. */
export function makeDirectory(at: Anchored, like: Omit<Content, 'bytes'>): void {
  closeSync(made(at.path, like));
}

export function isFileError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

/** Undefined when there is nothing, or nothing that we may look at. */
export function stateOf(path: string): FileState | undefined {
  try {
    const found = lstatSync(toBytes(path), { bigint: true, throwIfNoEntry: false });
    return found === undefined ? undefined : asState(found);
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}

function asState(found: BigIntStats): FileState {
  const { dev, ino, size, mtimeNs, ctimeNs, mode, nlink, uid, gid } = found;
  return {
    kind: found.isFile() ? 'file' : found.isDirectory() ? 'directory' : found.isSymbolicLink() ? 'link' : 'other',
    mode: Number(mode) & 0o7777,
    uid: Number(uid),
    gid: Number(gid),
    links: Number(nlink),
    stamp: [dev, ino, size, mtimeNs, ctimeNs].join('-'),
    changedAtMs: Number(ctimeNs / 1_000_000n),
    size: Number(size),
  };
}

/** State and bytes of one and the same regular file; no bytes when it is larger. */
export function readRegular(
  path: string,
  most: number,
): { readonly state: FileState; readonly bytes: Buffer | undefined } {
  const fd = openSync(toBytes(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const state = asState(fstatSync(fd, { bigint: true }));
    if (state.kind !== 'file' || state.size > most) return { state, bytes: undefined };
    const bytes = Buffer.alloc(state.size);
    let at = 0;
    while (at < bytes.length) {
      const count = readSync(fd, bytes, at, bytes.length - at, at);
      if (count === 0) break;
      at += count;
    }
    return { state, bytes: bytes.subarray(0, at) };
  } finally {
    closeSync(fd);
  }
}

export interface Content {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly bytes: Buffer;
}

/** A new file in place of whatever has the name: other names of what was there do not reach it. */
export function writeAnew(at: Anchored, { mode, uid, gid, bytes }: Content): void {
  const temporary = at.beside(`.palyra-${randomBytes(8).toString('hex')}`);
  const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
    if (process.geteuid?.() === 0) fchownSync(fd, uid, gid);
    fchmodSync(fd, mode & 0o777);
    renameSync(temporary, toBytes(at.path));
  } catch (error) {
    unlinkSync(temporary);
    throw error;
  } finally {
    closeSync(fd);
  }
}

export function linkAnew(at: Anchored, target: string): void {
  const temporary = at.beside(`.palyra-${randomBytes(8).toString('hex')}`);
  symlinkSync(toBytes(target), temporary);
  try {
    renameSync(temporary, toBytes(at.path));
  } catch (error) {
    unlinkSync(temporary);
    throw error;
  }
}

export function targetOf(at: Anchored): string {
  return fromBytes(readlinkSync(toBytes(at.path), 'buffer'));
}
