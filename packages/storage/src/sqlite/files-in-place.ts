import { lstatSync, type Stats } from 'node:fs';
import { StorageError } from '../storage-error.ts';

/**
 * Whether the files that a connection has open are still the ones with their names. SQLite does not notice when they
 * were removed or replaced, and would go on writing to what nobody finds again. Throws `storage.unavailable`; when the
 * files are put back, it holds again.
 */
export function createPlaceCheck(path: string): () => void {
  const database = identityOf(path);
  const logPath = `${path}-wal`;
  let log: Identity | undefined;
  return () => {
    // The write-ahead log is made by the first commit and stays as long as anybody has it open.
    const found = identityOf(logPath);
    log ??= found;
    if (isSame(identityOf(path), database) && isSame(found, log)) return;
    // SECURITY: T-32 — an entry that is acknowledged must be in the file that the next start reads.
    throw new StorageError('storage.unavailable', 'The database file was removed or replaced while it was open.', {
      fix: 'Put the same file back; if another one shall take its place, stop palyrad first.',
    });
  };
}

/** Opening would make an empty one, and what is lost would look as if it had never been. */
export function requireFile(path: string): void {
  if (identityOf(path) !== undefined) return;
  throw new StorageError('storage.unavailable', 'The database file is gone.', {
    fix: 'Put it back, or restore it from a backup.',
  });
}

type Identity = Pick<Stats, 'dev' | 'ino'>;

function identityOf(path: string): Identity | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function isSame(one: Identity | undefined, other: Identity | undefined): boolean {
  return one?.ino === other?.ino && one?.dev === other?.dev;
}
