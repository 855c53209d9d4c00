import { type Clock, createIdSource, type Logger, systemClock } from '@palyra/primitives';
import {
  type Database,
  type DatabaseOptions,
  openDatabase,
  openForReading,
  type ReadOnlyDatabase,
  StorageError,
} from '@palyra/storage';
import { openBodyFiles } from './bodies/read-body.ts';
import { currentLog, type RecoveredLog, recoverLog } from './create-log.ts';
import { hexOf, utf8 } from './format/bytes.ts';
import { parsePolicySnapshot, type ToolCallPolicySnapshot } from './format/policy-snapshot.ts';
import { JournalError } from './journal-error.ts';
import { journalPrograms } from './journal-programs.ts';
import { openJournalKeys } from './keys/journal-keys.ts';
import { nodeSha256 } from './node-crypto.ts';
import { type Journal, openJournal } from './open-journal.ts';
import { JOURNAL_MIGRATIONS, type JournalSchema, type LogRow } from './store/journal-schema.ts';
import { bodyRow, type ReadBody } from './stored-bodies.ts';
import { createTreeProofs, type TreeProofs } from './tree-proofs.ts';

/** Where a home keeps its journal. For tools that look after a journal without a daemon, and know nothing of storage. */
export interface HomeJournal {
  readonly location: DatabaseOptions['location'];
  readonly lockTimeoutMs: number;
  /** The identity directory of the home. */
  readonly keyDirectory: string;
  /** Absent: bodies are in the database. */
  readonly bodyDirectory: string | undefined;
}

export interface JournalReader {
  readonly database: ReadOnlyDatabase<JournalSchema>;
  /** The one that is being written. */
  readonly log: LogRow;
  readonly proofs: TreeProofs;
  readonly bodyDirectory: string | undefined;
  /** Throws `journal.not_found`, `journal.body_erased`, `journal.body_corrupt`. */
  readBody(commitment: string): Promise<ReadBody>;
  /** Throws `journal.not_found`, and `journal.invalid_snapshot` for one that is not what its digest says. */
  readSnapshot(digest: string): Promise<ToolCallPolicySnapshot>;
  close(): Promise<void>;
}

export interface JournalWriter extends Omit<JournalReader, 'database'> {
  readonly database: Database<JournalSchema>;
  readonly journal: Journal;
}

/** Changes nothing, and waits for nobody. Throws `journal.no_log`, `StorageError`. */
export async function openHomeForReading(home: HomeJournal): Promise<JournalReader> {
  const database = await openForReading<JournalSchema>(home).catch((error: unknown) => {
    throw isAbsent(error, home) ? noLog(home, error) : error;
  });
  return closingOnFault(database, async () => ({
    database,
    ...(await logIn(database, home)),
    ...contentOf(database, home),
    close: () => database.close(),
  }));
}

/** For the few changes that need no daemon; palyrad may run at the same time. Throws as `openJournal` does. */
export async function openHomeForWriting(
  home: HomeJournal,
  logger: Pick<Logger, 'error'>,
  clock: Clock = systemClock,
): Promise<JournalWriter> {
  const { keyDirectory, bodyDirectory, ...place } = home;
  const programs = journalPrograms(keyDirectory);
  const database = await openDatabase<JournalSchema>({ ...place, migrations: 'as found', programs, logger }).catch(
    (error: unknown) => {
      throw isAbsent(error, home) ? noLog(home, error) : error;
    },
  );
  return closingOnFault(database, async () => {
    const found = await logIn(database, home);
    const journal = await openJournal({ database, keyDirectory, bodyDirectory, clock });
    return { database, ...found, ...contentOf(database, home), journal, close: () => database.close() };
  });
}

type Content = Pick<JournalReader, 'bodyDirectory' | 'readBody' | 'readSnapshot'>;

function contentOf(database: Pick<ReadOnlyDatabase<JournalSchema>, 'read'>, { bodyDirectory }: HomeJournal): Content {
  const files = openBodyFiles(bodyDirectory);
  return {
    bodyDirectory,
    async readBody(commitment) {
      const row = await bodyRow(database, commitment.toLowerCase());
      const bytes = await files.read(row);
      return { bytes, salt: row.salt as Uint8Array, totalBytes: row.total_bytes };
    },
    readSnapshot: (digest) => snapshotIn(database, digest.toLowerCase()),
  };
}

async function snapshotIn(
  { read }: Pick<ReadOnlyDatabase<JournalSchema>, 'read'>,
  digest: string,
): Promise<ToolCallPolicySnapshot> {
  const row = await read.selectFrom('journal_snapshots').select('text').where('digest', '=', digest).executeTakeFirst();
  if (row === undefined) {
    throw new JournalError('journal.not_found', 'There is no such policy snapshot.', {
      fix: 'Give the digest as the entry has it: 64 hexadecimal digits.',
    });
  }
  // SECURITY: T-31 — the text is a row beside the chain, and only its digest is signed.
  if (hexOf(nodeSha256(utf8(row.text))) !== digest) {
    throw new JournalError('journal.invalid_snapshot', 'The policy snapshot is not the one with this digest.', {
      fix: 'Somebody changed it in the database: run `palyra verify`.',
    });
  }
  return parsePolicySnapshot(JSON.parse(row.text));
}

export type RecoveredHome = RecoveredLog;

export interface RecoverOptions {
  readonly clock?: Clock;
  /** Go on without the root key of the old log. */
  readonly newRootKey?: boolean;
}

/**
 * Begins a new log in this home that names the head of the old one. Throws `journal.no_log` where there never was one,
 * and `journal.key_missing` without its root key.
 */
export async function recoverHome(
  home: HomeJournal,
  logger: Pick<Logger, 'error'>,
  { clock = systemClock, newRootKey = false }: RecoverOptions = {},
): Promise<RecoveredHome> {
  const { keyDirectory, bodyDirectory: _, ...place } = home;
  const keys = openJournalKeys(keyDirectory);
  const state = await stateOf(home);
  if (state !== 'a log' && !keys.hasLog()) throw noLog(home);
  const migrations = state === 'no database' ? JOURNAL_MIGRATIONS : 'as found';
  const programs = journalPrograms(keyDirectory);
  const database = await openDatabase<JournalSchema>({ ...place, migrations, programs, logger });
  try {
    return await recoverLog({ database, keys, clock, ids: createIdSource(), newRootKey });
  } finally {
    await database.close();
  }
}

async function stateOf(home: HomeJournal): Promise<'no database' | 'no log' | 'a log'> {
  try {
    const reader = await openHomeForReading(home);
    await reader.close();
    return 'a log';
  } catch (error) {
    if (!(error instanceof JournalError) || error.code !== 'journal.no_log') throw error;
    return error.cause === undefined ? 'no log' : 'no database';
  }
}

async function logIn(
  database: Pick<ReadOnlyDatabase<JournalSchema>, 'read'>,
  home: HomeJournal,
): Promise<Pick<JournalReader, 'log' | 'proofs'>> {
  const log = await currentLog(database).catch((error: unknown) => {
    // A database without the journal's tables: nothing of ours was ever in it.
    throw error instanceof StorageError && error.code === 'storage.invalid_statement' ? noLog(home, error) : error;
  });
  if (log === undefined) throw noLog(home);
  await requireMigrated(database);
  return { log, proofs: createTreeProofs(database.read, log.number) };
}

/** Only palyrad brings a database up to date, for only it knows all that is in it. */
async function requireMigrated({ read }: Pick<ReadOnlyDatabase<JournalSchema>, 'read'>): Promise<void> {
  try {
    await read.selectFrom('journal_entries').select('id').limit(1).execute();
  } catch (cause) {
    if (!(cause instanceof StorageError) || cause.code !== 'storage.invalid_statement') throw cause;
    throw new JournalError('journal.earlier_release', 'The journal of this home is as an earlier release left it.', {
      cause,
      fix: 'Start palyrad of this release once with this home: it brings the database up to date.',
    });
  }
}

async function closingOnFault<Opened>(
  database: { close(): Promise<void> },
  open: () => Promise<Opened>,
): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** A server that is away may well hold a journal; a file that is not there does not. */
function isAbsent(error: unknown, { location }: HomeJournal): boolean {
  return location.kind === 'sqlite' && error instanceof StorageError && error.code === 'storage.unavailable';
}

/** Whether a log was ever begun with the keys of this home: then a database without one was taken away. */
export function hadLog({ keyDirectory }: HomeJournal): boolean {
  return openJournalKeys(keyDirectory).hasLog();
}

function noLog(home: HomeJournal, cause?: unknown): JournalError {
  const options = cause === undefined ? {} : { cause };
  if (!hadLog(home)) {
    return new JournalError('journal.no_log', 'There is no journal in this home.', {
      fix: 'Check --home; the journal is made when palyrad first runs.',
      ...options,
    });
  }
  return new JournalError('journal.no_log', 'This home had a journal, and it is not in the database.', {
    fix: 'Put the database back from a backup; then, or to begin anew, run `palyra journal recover`.',
    ...options,
  });
}
