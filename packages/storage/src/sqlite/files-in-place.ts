import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, type Stats } from 'node:fs';
import { StorageError } from '../storage-error.ts';

export interface PlaceCheck {
  /** Throws `storage.unavailable`; when the files are put back, it holds again. */
  requireInPlace(): void;
  /** Which file the write-ahead log was when it was last found in its place; undefined before the first time. */
  log(): Identity | undefined;
  close(): void;
}

/**
 * Whether the files that a connection has open are still the ones with their names. SQLite does not notice when they
 * were removed or replaced, and would go on writing to what nobody finds again.
 */
export function createPlaceCheck(path: string): PlaceCheck {
  const database = identityOf(path);
  const logPath = `${path}-wal`;
  let log: Identity | undefined;
  let held: HeldName | undefined;
  const isLogInPlace = () => {
    if (held?.isStill(logPath) === true) return true;
    // The write-ahead log is made by the first commit and stays as long as anybody has it open.
    const found = identityOf(logPath);
    log ??= found;
    if (!isSame(found, log)) return false;
    if (log !== undefined) held ??= holdName(logPath, log);
    return true;
  };
  return {
    requireInPlace() {
      if (isSame(identityOf(path), database) && isLogInPlace()) return;
      // SECURITY: T-32 — an entry that is acknowledged must be in the file that the next start reads.
      throw new StorageError('storage.unavailable', 'The database file was removed or replaced while it was open.', {
        fix: 'Put the same file back; if another one shall take its place, stop palyrad first.',
      });
    },
    log: () => log,
    close: () => held?.close(),
  };
}

interface HeldName {
  /** False also when that cannot be told this way. */
  isStill(path: string): boolean;
  close(): void;
}

const NOT_HELD: HeldName = { isStill: () => false, close: () => undefined };

/**
 * Of a file that is open, Linux tells the name without looking at the file. Asking for a file's state each time would be as
 * good an answer, but who has asked for a file's times makes the next write note a new one, and the flush has that to write
 * as well: a third of what it takes. SQLite holds no lock on the log itself, so none is lost when this is closed.
 */
function holdName(path: string, identity: Identity): HeldName {
  const file = tryToOpen(path);
  if (file === undefined) return NOT_HELD;
  const held = nameOf(file);
  // Not with a symbolic link on the way, which could lead elsewhere tomorrow.
  if (isSame(fstatSync(file), identity) && held.isStill(path)) return held;
  held.close();
  return NOT_HELD;
}

function tryToOpen(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch {
    return undefined;
  }
}

function nameOf(file: number): HeldName {
  const link = `/proc/self/fd/${file}`;
  return {
    isStill(path) {
      try {
        return readlinkSync(link) === path;
      } catch {
        return false;
      }
    },
    close: () => closeSync(file),
  };
}

/** Opening would make an empty one, and what is lost would look as if it had never been. */
export function requireFile(path: string): void {
  if (identityOf(path) !== undefined) return;
  throw new StorageError('storage.unavailable', 'The database file is gone.', {
    fix: 'Put it back, or restore it from a backup.',
  });
}

/** Which file it is, whatever its name. */
export type Identity = Pick<Stats, 'dev' | 'ino'>;

export function identityOf(path: string): Identity | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found && { dev: found.dev, ino: found.ino };
}

export function isSame(one: Identity | undefined, other: Identity | undefined): boolean {
  return one?.ino === other?.ino && one?.dev === other?.dev;
}
