import { DatabaseSync } from 'node:sqlite';
import { type Migration, renderMigrations } from '../migration.ts';
import { StorageError } from '../storage-error.ts';
import { SQLITE_TYPES } from './migrate.ts';

/** A table or an index, as `sqlite_schema` has it. */
export interface SchemaObject {
  readonly name: string;
  /** Null for an index that SQLite made by itself, for a key. */
  readonly sql: string | null;
}

/**
 * What those of these migrations that were applied have made in SQLite, each object by its name. It is made once more, in
 * memory, so that no second text has to agree with the migrations. Throws `storage.newer_schema` when one is not among them.
 */
export function madeSchema(
  migrations: readonly Migration[],
  applied: ReadonlySet<string>,
): ReadonlyMap<string, SchemaObject> {
  const known = renderMigrations(migrations, SQLITE_TYPES);
  const unknown = [...applied].find((id) => !known.some((migration) => migration.id === id));
  if (unknown !== undefined) {
    throw new StorageError(
      'storage.newer_schema',
      `The database holds migration ${unknown}, which is not known here.`,
      {
        fix: 'Use the version of Palyra that wrote it, or a newer one.',
      },
    );
  }
  const database = new DatabaseSync(':memory:');
  try {
    for (const { sql } of known.filter(({ id }) => applied.has(id))) for (const text of sql) database.exec(text);
    const rows = database.prepare(
      `select name, sql from sqlite_schema where tbl_name not like 'sqlite\\_%' escape '\\'`,
    );
    return new Map((rows.all() as unknown as readonly SchemaObject[]).map((each) => [each.name, each]));
  } finally {
    database.close();
  }
}
