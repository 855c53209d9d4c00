import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { ClientError } from '../client-error.ts';

/** Throws `client.credential_missing`, `client.credential_unsafe`. Judged and read through one descriptor. */
export function readPrivateFile(path: string): string {
  const file = open(path);
  try {
    const stat = fstatSync(file);
    // SECURITY: T-40 — a key that others can read is theirs as well, and an address that they can write leads to them.
    if (!stat.isFile() || isOpenToOthers(stat)) {
      throw unsafe('A file of the Palyra home is open to other users.', 'Run: chmod 600 on it, and see who owns it.');
    }
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

/** Throws `client.credential_missing`, `client.credential_unsafe`. */
export function checkPrivateDirectory(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw missing();
  // SECURITY: T-40 — who can write the directory puts another key in the place of this one.
  if (!stat.isDirectory() || isOpenToOthers(stat)) {
    throw unsafe('A directory of keys is open to other users.', 'Run: chmod 700 on it, and see who owns it.');
  }
}

function open(path: string): number {
  try {
    // Not blocking: a pipe in the place of a key must not hold the program up.
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') throw missing(cause);
    // SECURITY: T-40 — whoever owns a link decides later which file is read.
    throw unsafe(
      'A file of the Palyra home is a link, or cannot be opened.',
      'Put the file itself in its place.',
      cause,
    );
  }
}

function isOpenToOthers({ mode, uid }: Stats): boolean {
  return (mode & 0o077) !== 0 || uid !== process.geteuid?.();
}

function missing(cause?: unknown): ClientError {
  return new ClientError('client.credential_missing', 'A file of the Palyra home is not there.', {
    fix: 'Run `palyra init`, or set PALYRA_HOME to the home that is meant.',
    ...(cause === undefined ? {} : { cause }),
  });
}

function unsafe(message: string, fix: string, cause?: unknown): ClientError {
  return new ClientError('client.credential_unsafe', message, { fix, ...(cause === undefined ? {} : { cause }) });
}
