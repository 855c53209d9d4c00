import { accessSync, closeSync, constants, lstatSync, openSync, type Stats } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { QueryResult } from '../program.ts';
import { StorageError } from '../storage-error.ts';
import type { Row, StoredValue } from '../value.ts';
import type { SentResult } from './sent-result.ts';
import { sqliteFault } from './sqlite-error.ts';

export interface ConnectionOptions {
  readonly path: string;
  readonly lockTimeoutMs: number;
}

/** One SQLite connection with its prepared statements. Lives in a worker thread: everything here blocks. */
export interface Connection {
  readonly database: DatabaseSync;
  query(sql: string, parameters: readonly StoredValue[]): QueryResult;
  /** The same for whoever has to send it to another thread, where `received` makes rows of it. */
  queryToSend(sql: string, parameters: readonly StoredValue[]): SentResult;
  close(): void;
}

const CACHED_STATEMENTS = 256;

/** 64 MiB. Long before that the log is emptied beside the commits (`empty-log.ts`); here, if that does not happen. */
const MOST_LOG_PAGES = 16_000;

/** Throws `StorageError`. Creates the file, readable by its owner only. */
export function openForWriting({ path, lockTimeoutMs }: ConnectionOptions): Connection {
  try {
    ensurePrivateFile(path);
  } catch (error) {
    throw fileFault(error);
  }
  return connect(path, { timeout: lockTimeoutMs }, [
    'journal_mode = wal',
    'synchronous = full',
    `wal_autocheckpoint = ${MOST_LOG_PAGES}`,
    'foreign_keys = on',
    // SECURITY: T-54 — or what was erased stays readable in free pages.
    'secure_delete = on',
    'trusted_schema = off',
  ]);
}

export function openForReading({ path, lockTimeoutMs }: ConnectionOptions): Connection {
  return connect(path, { timeout: lockTimeoutMs, readOnly: true }, ['query_only = on', 'trusted_schema = off']);
}

function connect(
  path: string,
  options: { timeout: number; readOnly?: boolean },
  pragmas: readonly string[],
): Connection {
  try {
    const database = new DatabaseSync(path, options);
    for (const pragma of pragmas) database.exec(`pragma ${pragma}`);
    refusePlanted(database);
    return withStatements(database);
  } catch (error) {
    throw sqliteFault(error);
  }
}

/** SECURITY: T-31 — a trigger undoes what we write, a view answers what it likes, for as long as it likes. We make neither. */
function refusePlanted(database: DatabaseSync): void {
  const planted = database
    .prepare(`select name from sqlite_schema where type in ('view', 'trigger') or sql like 'create virtual%' limit 1`)
    .get();
  if (planted === undefined) return;
  database.close();
  throw new StorageError(
    'storage.corrupt',
    'The database holds a view, a trigger or a virtual table that is not ours.',
    {
      fix: 'Keep the file as evidence, and go on with a copy from a backup.',
    },
  );
}

interface Prepared {
  readonly statement: StatementSync;
  /** Asking SQLite each time takes longer than many a statement. */
  readonly hasRows: boolean;
}

function withStatements(database: DatabaseSync): Connection {
  const statements = new Map<string, Prepared>();
  const listings = new Map<string, Listing>();
  const connection: Connection = {
    database,
    query(sql, parameters) {
      const { statement, hasRows } = statements.get(sql) ?? remember(statements, sql, prepare(database, sql));
      if (hasRows) {
        const rows = statement.all(...parameters) as Row[];
        return { rowCount: rows.length, rows };
      }
      return { rowCount: Number(statement.run(...parameters).changes), rows: [] };
    },
    queryToSend(sql, parameters) {
      const { statement, columns } = listings.get(sql) ?? remember(listings, sql, prepareListing(database, sql));
      if (columns.length === 0) return connection.query(sql, parameters);
      // Lists, because it was told so.
      const rows = statement.all(...parameters) as unknown as readonly StoredValue[][];
      return { columns, values: rows.flat() };
    },
    close: () => database.close(),
  };
  return connection;
}

interface Listing {
  readonly statement: StatementSync;
  /**
   * None when they can change without the statement: `*` is what the table has by then, which a migration may change. And
   * none when a row cannot be made by setting one after the other, which `__proto__` does not make a field of it.
   */
  readonly columns: readonly string[];
}

function prepareListing(database: DatabaseSync, sql: string): Listing {
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  const columns = statement.columns().map(({ name }) => name);
  return { statement, columns: sql.includes('*') || columns.includes('__proto__') ? [] : columns };
}

function prepare(database: DatabaseSync, sql: string): Prepared {
  const statement = database.prepare(sql);
  return { statement, hasRows: statement.columns().length > 0 };
}

/** There are far fewer than this: who keeps count of their use pays for it with every statement. */
function remember<Kept>(statements: Map<string, Kept>, sql: string, prepared: Kept): Kept {
  if (statements.size >= CACHED_STATEMENTS) statements.clear();
  statements.set(sql, prepared);
  return prepared;
}

/** SQLite gives its journal files the mode of the main file, so this one decision covers them all. */
function ensurePrivateFile(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false }) ?? create(path);
  if (!found.isFile()) throw denied('it is not a file');
  // SECURITY: T-40 — whoever can write this file writes approvals and grants, and whoever reads it reads the journal.
  if ((found.mode & 0o077) !== 0) {
    throw new StorageError(
      'storage.unsafe_permissions',
      `The database file has mode ${(found.mode & 0o777).toString(8)}; other users can open it.`,
      { fix: 'chmod 600 the file, and look at what it holds if others could write it.' },
    );
  }
  if (found.uid !== process.geteuid?.()) {
    throw new StorageError('storage.unsafe_permissions', `The database file belongs to uid ${found.uid}.`, {
      fix: 'chown it to the user that runs palyrad.',
    });
  }
  accessSync(path, constants.R_OK | constants.W_OK);
}

/**
 * Only a file that is not there yet is opened here. Closing any descriptor of a file drops every lock that this process
 * holds on it, SQLite's among them, and then another process may remove the write-ahead log under us.
 */
function create(path: string): Stats {
  try {
    closeSync(openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600));
  } catch (error) {
    // Another process was faster; what it made is looked at like any other file.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return lstatSync(path);
}

function fileFault(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new StorageError('storage.disk_full', 'There is no space for the database file.', { cause: error });
  }
  return denied(code ?? 'unknown reason', error);
}

function denied(why: string, cause?: unknown): StorageError {
  return new StorageError('storage.permission_denied', `The database file cannot be opened (${why}).`, {
    cause,
    fix: 'Make the home a directory that is yours: chmod 700, chown to the user that runs palyrad.',
  });
}
