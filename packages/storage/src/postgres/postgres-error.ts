import pg from 'pg';
import { StorageError, type StorageErrorCode } from '../storage-error.ts';

interface PostgresFault {
  readonly code: StorageErrorCode;
  readonly sentence: string;
  readonly fix?: string;
}

/** By SQLSTATE; the first prefix that fits wins, so the longer ones come first. */
const FAULTS: readonly (readonly [prefix: string, fault: PostgresFault])[] = [
  ['25006', { code: 'storage.read_only', sentence: 'The connection is for reading.', fix: 'Put writes into a unit.' }],
  [
    '53100',
    {
      code: 'storage.disk_full',
      sentence: 'The server has no space left; nothing was written.',
      fix: 'Free some space on the server.',
    },
  ],
  ['55P03', locked()],
  ['57014', locked()],
  ['42501', denied()],
  [
    '3D000',
    {
      code: 'storage.unavailable',
      sentence: 'The database does not exist on the server.',
      fix: 'Create it, or mend storage.url.',
    },
  ],
  [
    'XX001',
    { code: 'storage.corrupt', sentence: 'The server reports damaged data.', fix: 'Restore it from a backup.' },
  ],
  ['XX002', { code: 'storage.corrupt', sentence: 'The server reports a damaged index.', fix: 'Rebuild the index.' }],
  ['58', { code: 'storage.io_failed', sentence: 'The disk of the server failed.' }],
  ['28', denied()],
  ['23', { code: 'storage.constraint_violated', sentence: 'A constraint was violated.' }],
  ['22', { code: 'storage.constraint_violated', sentence: 'A value does not fit its column.' }],
  ['53', { code: 'storage.unavailable', sentence: 'The server is out of resources.' }],
];

/** Turns what `pg` throws into our codes. Details, which may hold values of rows, stay in the cause. */
export function postgresFault(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  if (connectionLost(error)) return unavailable(error);
  const state = sqlState(error);
  const fault = FAULTS.find(([prefix]) => state?.startsWith(prefix))?.[1];
  const { code, sentence, fix } = fault ?? {
    code: 'storage.invalid_statement',
    sentence: 'PostgreSQL did not accept a statement.',
  };
  return new StorageError(
    code,
    state === undefined ? sentence : `${sentence} (SQLSTATE ${state})`,
    fix === undefined ? { cause: error } : { cause: error, fix },
  );
}

function unavailable(cause: unknown): StorageError {
  return new StorageError('storage.unavailable', 'PostgreSQL cannot be reached.', {
    cause,
    fix: 'Start the server, or mend storage.url.',
  });
}

/** 57P is the server going away, 08 the protocol, 53300 no free slot; what is not the server's answer is the socket's. */
export function connectionLost(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return state.startsWith('57P') || state.startsWith('08') || state === '53300';
  // `pg` speaks of broken connections in plain errors, the system in errors with a code; a TypeError is a bug of ours.
  return (
    error instanceof Error &&
    (error.constructor === Error ||
      typeof (error as { syscall?: unknown }).syscall === 'string' ||
      error instanceof AggregateError)
  );
}

/** Two units stood in each other's way; neither has happened, and trying again is the remedy. */
export function mayTryAgain(error: unknown): boolean {
  const state = sqlState(error);
  return state === '40001' || state === '40P01';
}

/** Only the server's own errors have one: the system's EPIPE would look like one too. */
function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

function locked(): PostgresFault {
  return {
    code: 'storage.locked',
    sentence: 'Another session holds a lock.',
    fix: 'End that session or raise storage.lock_timeout_ms.',
  };
}

function denied(): PostgresFault {
  return {
    code: 'storage.permission_denied',
    sentence: 'The server denied access.',
    fix: 'Check the user, its password and its rights in storage.url.',
  };
}
