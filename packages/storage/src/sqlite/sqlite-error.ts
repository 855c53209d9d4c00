import { StorageError, type StorageErrorCode } from '../storage-error.ts';

interface SqliteFault {
  readonly code: StorageErrorCode;
  readonly sentence: string;
  readonly fix?: string;
}

const IOERR = 10;
const IOERR_SHMSIZE = 4874;
const READONLY = 8;

const DISK_FULL: SqliteFault = {
  code: 'storage.disk_full',
  sentence: 'The disk that holds the database is full; nothing was written.',
  fix: 'Free some space; writing goes on by itself.',
};

const FAULTS: ReadonlyMap<number, SqliteFault> = new Map([
  [1, { code: 'storage.invalid_statement', sentence: 'SQLite did not accept a statement.' }],
  [3, permissionDenied()],
  [
    5,
    {
      code: 'storage.locked',
      sentence: 'Another process holds the database.',
      fix: 'End that process or raise storage.lock_timeout_ms.',
    },
  ],
  [
    READONLY,
    { code: 'storage.read_only', sentence: 'The database was opened for reading.', fix: 'Put writes into a unit.' },
  ],
  [
    IOERR,
    {
      code: 'storage.io_failed',
      sentence: 'The disk failed.',
      fix: 'Look at the kernel log, then restore from a backup if the file is damaged.',
    },
  ],
  [11, { code: 'storage.corrupt', sentence: 'The database file is damaged.', fix: 'Restore it from a backup.' }],
  [13, DISK_FULL],
  [14, permissionDenied()],
  [19, { code: 'storage.constraint_violated', sentence: 'A constraint was violated.' }],
  [
    26,
    {
      code: 'storage.corrupt',
      sentence: 'The file is not a database.',
      fix: 'Move it away, or point palyra at another home.',
    },
  ],
]);

/** Turns what `node:sqlite` throws into our codes. SQLite's own text names tables and columns. */
export function sqliteFault(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  if (isBeyondNumbers(error)) {
    return new StorageError('storage.corrupt', 'The database holds an integer beyond 2^53 - 1, which nobody stored.', {
      cause: error,
      fix: 'Restore it from a backup.',
    });
  }
  const errcode = sqliteCode(error);
  if (errcode === undefined)
    return new StorageError('storage.invalid_statement', 'A query could not be run.', { cause: error });
  const { code, sentence, fix } = faultOf(errcode);
  const detail = error instanceof Error ? ` (${error.message})` : '';
  return new StorageError(code, `${sentence}${detail}`, fix === undefined ? { cause: error } : { cause: error, fix });
}

/** Parameters that large are refused, so somebody else wrote it: the statement is not what is wrong. */
function isBeyondNumbers(error: unknown): boolean {
  return error instanceof RangeError && 'code' in error && error.code === 'ERR_OUT_OF_RANGE';
}

function faultOf(errcode: number): SqliteFault {
  if (errcode === IOERR_SHMSIZE) return DISK_FULL;
  const primary = errcode & 0xff;
  // The plain code is a write on a reading connection; the extended ones speak of the file and its directory.
  if (primary === READONLY && errcode !== READONLY) return permissionDenied();
  return FAULTS.get(primary) ?? { code: 'storage.invalid_statement', sentence: 'SQLite did not run a statement.' };
}

export function diskFailed(error: unknown): boolean {
  const errcode = sqliteCode(error);
  return errcode !== undefined && (errcode & 0xff) === IOERR && errcode !== IOERR_SHMSIZE;
}

/** After a failed write to disk the page cache may no longer match it, so the connection must not be trusted. */
export function needsReopening(error: unknown): boolean {
  return error instanceof StorageError ? diskFailed(error.cause) : diskFailed(error);
}

function sqliteCode(error: unknown): number | undefined {
  const errcode = error instanceof Error ? (error as { errcode?: unknown }).errcode : undefined;
  return typeof errcode === 'number' ? errcode : undefined;
}

function permissionDenied(): SqliteFault {
  return {
    code: 'storage.permission_denied',
    sentence: 'The database file or its directory cannot be opened.',
    fix: 'Make the home and its files yours: chown -R "$USER" and chmod 700 on the directory, 600 on the files.',
  };
}
