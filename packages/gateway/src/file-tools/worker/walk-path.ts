import { closeSync, constants, fstatSync, openSync, readlinkSync, type Stats } from 'node:fs';
import { FileFailure, fromSystem } from './file-failure.ts';

/** The workspace, held open: whatever happens to its name, every path starts in this very directory. */
export interface Root {
  readonly fd: number;
  readonly path: string;
}

export interface Entry {
  /** Opened with O_PATH: it names the file, and reading it would need another open. */
  readonly fd: number;
  readonly stat: Stats;
}

/** Where a path leads, held open so that nobody can lead it elsewhere. */
export interface Place {
  /** Relative to the workspace, every link resolved; empty for the workspace itself. */
  readonly path: string;
  /** The directory that it is in, or the nearest one above it that exists. */
  readonly directory: number;
  /** Directories below it that are to be made first. */
  readonly missing: readonly string[];
  /** The last name; `.` for the workspace itself. */
  readonly name: string;
  readonly entry: Entry | undefined;
}

export interface WalkOptions {
  /** Without it a link at the end is the entry itself. */
  readonly followLast: boolean;
}

/** Linux's own number; Node does not export it. */
const O_PATH = 0o10000000;
const MAX_LINKS = 40;
const MAX_PATH_BYTES = 4096;

export function openRoot(path: string): Root {
  return { fd: openSync(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW), path };
}

/** A name in an open directory: what `openat` takes as two arguments. */
export function at(directory: number, name: string): string {
  return `/proc/self/fd/${directory}/${name}`;
}

/** Exactly this entry; a link is opened itself, and nothing blocks, is read or is started by it. */
export function openEntry(directory: number, name: string): Entry {
  // SECURITY: T-14 — O_NOFOLLOW in every directory on the way: no link is followed by anybody but us.
  const fd = openSync(at(directory, name), O_PATH | constants.O_NOFOLLOW);
  try {
    return { fd, stat: fstatSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

interface Walk {
  readonly root: Root;
  readonly asked: string;
  /** Open directories from the workspace down; the last is where the walk stands. */
  readonly stack: { readonly fd: number; readonly name: string }[];
  pending: string[];
  links: number;
}

/**
 * Follows a path one name at a time, links included, from the open workspace. The caller closes what is open in the
 * place (`closePlace`). Throws `FileFailure`.
 */
export function walkPath(root: Root, asked: string, options: WalkOptions): Place {
  const walk: Walk = { root, asked, stack: [{ fd: root.fd, name: '' }], pending: namesOf(root, asked), links: 0 };
  let place: Place | undefined;
  try {
    place = arrive(walk, options);
    const path = confirmedPath(root, place);
    closeStack(walk, place);
    return { ...place, path };
  } catch (error) {
    closeStack(walk, undefined);
    if (place?.entry !== undefined && !place.entry.stat.isDirectory()) closeSync(place.entry.fd);
    throw fromSystem(error, asked);
  }
}

export function closePlace(root: Root, { directory, entry }: Place): void {
  for (const fd of new Set([directory, entry?.fd])) if (fd !== undefined && fd !== root.fd) closeSync(fd);
}

function namesOf(root: Root, asked: string): string[] {
  if (asked.includes('\0') || !asked.isWellFormed() || Buffer.byteLength(asked) > MAX_PATH_BYTES) {
    throw new FileFailure('file.invalid_input', 'The path holds a NUL, half a character or more than 4,096 bytes.');
  }
  return below(root, asked, asked).split('/');
}

/** An absolute path is one of ours when it begins with the workspace. */
function below(root: Root, path: string, asked: string): string {
  if (!path.startsWith('/')) return path;
  if (path === root.path) return '';
  // SECURITY: T-14 — /etc, /proc/self/root and /proc/self/fd exist in the sandbox too, and are no part of the workspace.
  if (!path.startsWith(`${root.path}/`)) throw outside(asked);
  return path.slice(root.path.length + 1);
}

function arrive(walk: Walk, { followLast }: WalkOptions): Place {
  for (let name = walk.pending.shift(); name !== undefined; name = walk.pending.shift()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      goUp(walk);
      continue;
    }
    const isLast = walk.pending.every((each) => each === '' || each === '.');
    const entry = tryEntry(walk, name);
    if (entry === undefined) return absent(walk, name);
    if (entry.stat.isDirectory()) {
      walk.stack.push({ fd: entry.fd, name });
    } else if (entry.stat.isSymbolicLink() && !(isLast && !followLast)) {
      closeSync(entry.fd);
      followLink(walk, name);
    } else if (isLast) {
      return { path: pathOf(walk, name), directory: here(walk), missing: [], name, entry };
    } else {
      closeSync(entry.fd);
      throw new FileFailure('file.not_directory', 'A part of the path is not a directory.', { path: walk.asked });
    }
  }
  return directoryPlace(walk);
}

function goUp(walk: Walk): void {
  const left = walk.stack.length > 1 ? walk.stack.pop() : undefined;
  // SECURITY: T-14 — the workspace has nothing above it.
  if (left === undefined) throw outside(walk.asked);
  closeSync(left.fd);
}

function tryEntry(walk: Walk, name: string): Entry | undefined {
  try {
    return openEntry(here(walk), name);
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

function followLink(walk: Walk, name: string): void {
  walk.links += 1;
  if (walk.links > MAX_LINKS) {
    throw new FileFailure('file.link_loop', 'The path leads through too many links.', { path: walk.asked });
  }
  const target = readlinkSync(at(here(walk), name));
  const names = below(walk.root, target, walk.asked).split('/');
  if (target.startsWith('/')) {
    for (const left of walk.stack.splice(1)) closeSync(left.fd);
  }
  walk.pending = [...names, ...walk.pending];
}

/** What is not there yet may be made, unless the path goes on through it in another way than down. */
function absent(walk: Walk, name: string): Place {
  const names = [name, ...walk.pending.filter((each) => each !== '' && each !== '.')];
  if (names.includes('..'))
    throw new FileFailure('file.not_found', 'There is nothing at this path.', { path: walk.asked });
  const last = names.pop() ?? name;
  return { path: pathOf(walk, ...names, last), directory: here(walk), missing: names, name: last, entry: undefined };
}

function directoryPlace(walk: Walk): Place {
  const { fd, name } = walk.stack.at(-1) ?? { fd: walk.root.fd, name: '' };
  const directory = walk.stack.at(-2)?.fd ?? walk.root.fd;
  return { path: pathOf(walk), directory, missing: [], name: name || '.', entry: { fd, stat: fstatSync(fd) } };
}

/**
 * A second opinion: the kernel names what we hold. A directory that was moved meanwhile is not what was asked for, and where
 * case does not matter the name on disk counts. It is no wall: who moves directories can also write them.
 */
function confirmedPath(root: Root, { path, directory, missing, entry }: Place): string {
  const names = path.split('/');
  const count = entry === undefined ? names.length - 1 - missing.length : names.length;
  const base = nameOf(root.fd);
  const found = nameOf(entry?.fd ?? directory);
  const expected = [base, ...names.slice(0, count)].filter((part) => part !== '').join('/');
  if (found.toLowerCase() !== expected.toLowerCase()) {
    throw new FileFailure('file.changed', 'The path was changed while it was followed.', { path });
  }
  return [found.slice(base.length + 1), ...names.slice(count)].filter((part) => part !== '').join('/');
}

function nameOf(fd: number): string {
  return readlinkSync(`/proc/self/fd/${fd}`);
}

function closeStack(walk: Walk, place: Place | undefined): void {
  for (const { fd } of walk.stack) {
    if (fd !== walk.root.fd && fd !== place?.directory && fd !== place?.entry?.fd) closeSync(fd);
  }
}

function here(walk: Walk): number {
  return walk.stack.at(-1)?.fd ?? walk.root.fd;
}

function pathOf(walk: Walk, ...more: readonly string[]): string {
  return [...walk.stack.slice(1).map(({ name }) => name), ...more].join('/');
}

export function isAbsence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function outside(asked: string): FileFailure {
  return new FileFailure('file.outside_workspace', 'The path leads out of the workspace.', {
    path: asked,
    fix: 'Name a file in the workspace, by a path relative to it.',
  });
}
