import type { Logger } from '@palyra/primitives';
import type { Database, Dialect, ReadQueries } from './database.ts';
import type { Migration } from './migration.ts';
import type { ProgramModule } from './program.ts';
import { openSqlite, openSqliteForReading } from './sqlite/open-sqlite.ts';

export interface PostgresLocation {
  readonly kind: 'postgres';
  readonly url: string;
  readonly poolSize: number;
  /** How long units and queries wait for a server that is away before `storage.unavailable`; 10 s unless told. */
  readonly patienceMs?: number;
}

export interface DatabaseOptions {
  readonly location: { readonly kind: 'sqlite'; readonly path: string } | PostgresLocation;
  /** `as found`: for a tool that knows one owner's tables only, on a database that palyrad has made. */
  readonly migrations: readonly Migration[] | 'as found';
  readonly programs: readonly ProgramModule[];
  readonly lockTimeoutMs: number;
  readonly logger: Pick<Logger, 'error'>;
}

/** Opens and migrates. Throws `StorageError`, and then nothing is left open. */
export async function openDatabase<Schema>({ location, ...options }: DatabaseOptions): Promise<Database<Schema>> {
  switch (location.kind) {
    case 'sqlite':
      return openSqlite<Schema>({ ...options, path: location.path });
    case 'postgres':
      return (await postgres()).openPostgres<Schema>({ ...options, ...location });
  }
}

/** What an inspector needs: it takes no lock that a writer would wait for, and changes nothing. */
export interface ReadOnlyDatabase<Schema> {
  readonly dialect: Dialect;
  readonly read: ReadQueries<Schema>;
  close(): Promise<void>;
}

/** Neither makes nor migrates anything. Throws `StorageError`, `storage.unavailable` when there is no database. */
export async function openForReading<Schema>({
  location,
  lockTimeoutMs,
}: Pick<DatabaseOptions, 'location' | 'lockTimeoutMs'>): Promise<ReadOnlyDatabase<Schema>> {
  switch (location.kind) {
    case 'sqlite':
      return openSqliteForReading<Schema>({ path: location.path, lockTimeoutMs });
    case 'postgres':
      return (await postgres()).openPostgresForReading<Schema>({ ...location, lockTimeoutMs });
  }
}

/** Its client is loaded by those who use it: every writer thread of SQLite imports this package too. */
function postgres() {
  return import('./postgres/open-postgres.ts');
}
