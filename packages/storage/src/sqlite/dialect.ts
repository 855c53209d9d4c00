import type * as kysely from 'kysely';
import { buildOnly } from '../build-only-dialect.ts';
import { Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from '../query-builder.ts';
import { createReadOnlyDriver, type RunQuery } from '../read-only-driver.ts';

const sqlite = {
  createAdapter: () => new ConcurrentSqliteAdapter(),
  createQueryCompiler: () => new SqliteQueryCompiler(),
  createIntrospector: (db: kysely.Kysely<unknown>) => new SqliteIntrospector(db),
};

export function sqliteBuilder<Schema>(): kysely.Kysely<Schema> {
  return buildOnly<Schema>(sqlite);
}

export function sqliteReader<Schema>(runQuery: RunQuery): kysely.Kysely<Schema> {
  return new Kysely<Schema>({ dialect: { ...sqlite, createDriver: () => createReadOnlyDriver(runQuery) } });
}

/** kysely's own adapter lets one query through at a time; our threads queue by themselves. */
class ConcurrentSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}
