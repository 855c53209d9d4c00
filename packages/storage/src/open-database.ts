import type { Logger } from '@palyra/primitives';
import type { Database } from './database.ts';
import type { Migration } from './migration.ts';
import { openPostgres } from './postgres/open-postgres.ts';
import type { ProgramModule } from './program.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';

export interface PostgresLocation {
  readonly kind: 'postgres';
  readonly url: string;
  readonly poolSize: number;
  /** How long units and queries wait for a server that is away before `storage.unavailable`; 10 s unless told. */
  readonly patienceMs?: number;
}

export interface DatabaseOptions {
  readonly location: { readonly kind: 'sqlite'; readonly path: string } | PostgresLocation;
  readonly migrations: readonly Migration[];
  readonly programs: readonly ProgramModule[];
  readonly lockTimeoutMs: number;
  readonly logger: Pick<Logger, 'error'>;
}

/** Opens and migrates. Throws `StorageError`, and then nothing is left open. */
export function openDatabase<Schema>({ location, ...options }: DatabaseOptions): Promise<Database<Schema>> {
  switch (location.kind) {
    case 'sqlite':
      return openSqlite<Schema>({ ...options, path: location.path });
    case 'postgres':
      return openPostgres<Schema>({ ...options, ...location });
  }
}
