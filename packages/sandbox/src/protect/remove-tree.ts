import { randomBytes } from 'node:crypto';
import { closeSync, constants, opendirSync, openSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { anchored, isFileError } from './anchored-files.ts';
import { setMode } from './make-listable.ts';
import { toBytes } from './path-bytes.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/**
 * Removes a directory with all that is in it. False when something of it is left.
 *
 * SECURITY: T-14 — a tool made it and another may still have it open: no link is followed, and each name is one in a
 * directory that is held open. However deep it is, only two are held: what lies deeper is moved up first.
 */
export function* removeTree(root: string, path: string): Generator<undefined, boolean> {
  const top = anchored(root, path, (at) => openDirectory(toBytes(at.path)));
  if (top === undefined) return false;
  try {
    for (let isEmpty = false; !isEmpty; ) isEmpty = yield* unlinkIn(top, (name) => removeDirectory(top, name));
  } catch (error) {
    if (!isFileError(error)) throw error;
  } finally {
    closeSync(top);
  }
  return anchored(root, path, (at) => rmdirSync(toBytes(at.path)) ?? true) === true;
}

function openDirectory(path: string | Buffer): number {
  // A tool may have closed it to us.
  if (process.geteuid?.() !== 0) setMode({ path }, () => 0o700);
  return openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/** True when there was nothing. */
function* unlinkIn(fd: number, onDirectory: (name: Buffer) => Iterable<undefined>): Generator<undefined, boolean> {
  // Each byte is a character of its own.
  const directory = opendirSync(`/proc/self/fd/${fd}`, { encoding: 'latin1' });
  let isEmpty = true;
  try {
    for (let each = directory.readSync(); each !== null; each = directory.readSync()) {
      yield undefined;
      isEmpty = false;
      const name = Buffer.from(each.name, 'latin1');
      if (each.isDirectory()) yield* onDirectory(name);
      else unlinkSync(within(fd, name));
    }
  } finally {
    directory.closeSync();
  }
  return isEmpty;
}

function* removeDirectory(top: number, name: Buffer): Generator<undefined, void> {
  const fd = openDirectory(within(top, name));
  const moveUp = (deeper: Buffer) => {
    renameSync(within(fd, deeper), within(top, Buffer.from(randomBytes(16).toString('hex'))));
    return [];
  };
  try {
    while (!(yield* unlinkIn(fd, moveUp))) yield undefined;
  } finally {
    closeSync(fd);
  }
  rmdirSync(within(top, name));
}

function within(fd: number, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name]);
}
