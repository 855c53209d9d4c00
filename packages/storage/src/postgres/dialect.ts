import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { buildOnly } from '../build-only-dialect.ts';
import { createReadOnlyDriver, type RunQuery } from '../read-only-driver.ts';

const postgres = {
  createAdapter: () => new PostgresAdapter(),
  createQueryCompiler: () => new PostgresQueryCompiler(),
  createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
};

export function postgresBuilder<Schema>(): Kysely<Schema> {
  return buildOnly<Schema>(postgres);
}

export function postgresReader<Schema>(runQuery: RunQuery): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: { ...postgres, createDriver: () => createReadOnlyDriver(runQuery) } });
}
