import { chmodSync, closeSync, constants, fstatSync, openSync } from 'node:fs';
import { type Anchored, anchored, isFileError } from './anchored-files.ts';
import { toBytes } from './path-bytes.ts';

const { O_DIRECTORY, O_NOFOLLOW } = constants;
/** Linux's, which Node does not name: a handle of the directory that needs no permission to read it. */
const O_PATH = 0o10000000;
/** What its owner needs to see what is in it, */
const TO_LIST = 0o500;
/** and to take that away. */
const TO_WRITE = 0o700;

interface Owned {
  readonly mode: number;
  readonly uid: number;
}

/** Whether permissions keep us from listing or entering a directory that is ours to open. */
export function isClosedToUs(directory: Owned): boolean {
  return isOursWithout(TO_LIST, directory);
}

/** The same for taking something out of it. Directories of modules are often so. */
export function isReadOnlyToUs(directory: Owned): boolean {
  return isOursWithout(TO_WRITE, directory);
}

function isOursWithout(rights: number, { mode, uid }: Owned): boolean {
  return uid === process.geteuid?.() && uid !== 0 && (mode & rights) !== rights;
}

/**
 * SECURITY: T-15 — a tool of our own user can close a directory to us and leave a hook in it that git finds by its name.
 * Its owner gets its rights back; false when that cannot be.
 */
export function makeListable(root: string, path: string): boolean {
  const open = (at: Pick<Anchored, 'path'>) => setMode(at, (mode) => mode | TO_LIST);
  if (path !== root) return anchored(root, path, open) === true;
  try {
    return open({ path });
  } catch (error) {
    if (isFileError(error)) return false;
    throw error;
  }
}

/** Also for what is in it. */
export function makeWritable(at: Pick<Anchored, 'path'>): void {
  setMode(at, (mode) => mode | TO_WRITE);
}

/** Of a directory that is held while it is changed: no link is followed, whatever has its name by then. */
export function setMode(at: { readonly path: string | Buffer }, modeOf: (mode: number) => number): true {
  const fd = openSync(typeof at.path === 'string' ? toBytes(at.path) : at.path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  try {
    chmodSync(`/proc/self/fd/${fd}`, modeOf(fstatSync(fd).mode & 0o7777));
    return true;
  } finally {
    closeSync(fd);
  }
}
