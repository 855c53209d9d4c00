import type * as kysely from 'kysely';
import { DummyDriver, Kysely } from './query-builder.ts';
import { StorageError } from './storage-error.ts';

/** Builds queries for a dialect and refuses to execute them: kysely's dummy driver would answer as if they had run. */
export function buildOnly<Schema>(dialect: Omit<kysely.Dialect, 'createDriver'>): kysely.Kysely<Schema> {
  return new Kysely<Schema>({
    dialect: {
      createAdapter: () => dialect.createAdapter(),
      createIntrospector: (db) => dialect.createIntrospector(db),
      createQueryCompiler: () => dialect.createQueryCompiler(),
      createDriver: () => new RefusingDriver(),
    },
  });
}

class RefusingDriver extends DummyDriver {
  override acquireConnection(): Promise<never> {
    return Promise.reject(
      new StorageError('storage.write_outside_unit', 'Writes are steps of a unit and are not executed directly.', {
        fix: 'Pass the query to statement(…) and commit the unit.',
      }),
    );
  }
}
