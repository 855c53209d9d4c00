import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { FileFailure, fromSystem } from './file-failure.ts';
import type { Entry } from './walk-path.ts';

export interface WholeFile {
  readonly bytes: Buffer;
  readonly sha256: string;
  /** Permission bits, without those that would change who runs it. */
  readonly mode: number;
  readonly stat: Stats;
}

const PERMISSIONS = 0o777;
const PIECE = 64 * 1024;

/** A regular file and nothing else. The caller closes it. Throws `FileFailure`. */
export function openRegular({ fd, stat }: Entry, path: string): number {
  // SECURITY: T-14 — the file that was looked at is opened again by its descriptor: a FIFO or device is never opened at all.
  if (!stat.isFile()) throw notRegular(stat, path);
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw fromSystem(error, path);
  }
}

/** Throws `FileFailure`, also for a file above the limit. */
export function readWhole(entry: Entry, path: string, maxBytes: number): WholeFile {
  const fd = openRegular(entry, path);
  try {
    const stat = fstatSync(fd);
    const bytes = stat.size > maxBytes ? undefined : readUpTo(fd, 0, maxBytes + 1);
    if (bytes === undefined || bytes.length > maxBytes) throw tooLarge(path, maxBytes);
    return { bytes, sha256: sha256(bytes), mode: stat.mode & PERMISSIONS, stat };
  } catch (error) {
    throw fromSystem(error, path);
  } finally {
    closeSync(fd);
  }
}

/** A file that grows while it is read is read no further than was asked. */
export function readUpTo(fd: number, position: number, maxBytes: number): Buffer {
  const pieces: Buffer[] = [];
  let length = 0;
  while (length < maxBytes) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE, maxBytes - length));
    const count = readSync(fd, piece, 0, piece.length, position + length);
    if (count === 0) break;
    pieces.push(piece.subarray(0, count));
    length += count;
  }
  return Buffer.concat(pieces, length);
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** As git and grep tell it: a NUL near the beginning. */
export function looksBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 8192).includes(0);
}

export function kindOf(stat: Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): EntryKind {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'directory';
  return stat.isSymbolicLink() ? 'link' : 'other';
}

export type EntryKind = 'file' | 'directory' | 'link' | 'other';

function notRegular(stat: Stats, path: string): FileFailure {
  const words = { file: 'file', directory: 'directory', link: 'link', other: 'device, pipe or socket' };
  return new FileFailure('file.not_regular', `The path names a ${words[kindOf(stat)]}, not a regular file.`, { path });
}

function tooLarge(path: string, maxBytes: number): FileFailure {
  return new FileFailure('file.too_large', `The file is larger than ${maxBytes} bytes.`, { path });
}
