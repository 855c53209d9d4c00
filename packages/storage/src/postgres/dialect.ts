import type * as kysely from 'kysely';
import { buildOnly } from '../build-only-dialect.ts';
import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from '../query-builder.ts';
import { createReadOnlyDriver, type RunQuery } from '../read-only-driver.ts';

const postgres = {
  createAdapter: () => new PostgresAdapter(),
  createQueryCompiler: () => new PostgresQueryCompiler(),
  createIntrospector: (db: kysely.Kysely<unknown>) => new PostgresIntrospector(db),
};

export function postgresBuilder<Schema>(): kysely.Kysely<Schema> {
  return buildOnly<Schema>(postgres);
}

export function postgresReader<Schema>(runQuery: RunQuery): kysely.Kysely<Schema> {
  return new Kysely<Schema>({ dialect: { ...postgres, createDriver: () => createReadOnlyDriver(runQuery) } });
}
