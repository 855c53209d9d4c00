import { createHash } from 'node:crypto';
import { StorageError } from './storage-error.ts';

/** The names of the portable column types in one driver. */
export interface ColumnTypes {
  readonly text: string;
  readonly integer: string;
  readonly real: string;
  readonly bytes: string;
  /** Ends every `create table (…)`: SQLite checks types only in strict tables. */
  readonly strict: string;
  /** Ends a table whose rows are to lie in the order of its primary key: one tree and not two. Nothing on PostgreSQL. */
  readonly strictByKey: string;
}

/** Forward only. `id` is `<owner>/<number>-<slug>`; numbers of one owner ascend, owners are independent. */
export interface Migration {
  readonly id: string;
  statements(types: ColumnTypes): readonly string[];
}

export interface RenderedMigration {
  readonly id: string;
  readonly checksum: string;
  readonly sql: readonly string[];
}

export interface AppliedMigration {
  readonly id: string;
  readonly checksum: string;
}

export const MIGRATIONS_TABLE = 'palyra_migrations';

const ID = /^(?<owner>[a-z][a-z0-9_]*)\/(?<number>\d{4})-[a-z0-9-]+$/;

/** Functions do not travel to the writer's thread, so migrations are rendered first. */
export function renderMigrations(migrations: readonly Migration[], types: ColumnTypes): readonly RenderedMigration[] {
  checkOrder(migrations.map(({ id }) => id));
  return migrations.map(({ id, statements }) => {
    const sql = statements(types);
    refuseDeferred(id, sql);
    return { id, sql, checksum: createHash('sha256').update(JSON.stringify(sql)).digest('hex') };
  });
}

/** What is still to be applied. Throws when the database knows more, or something else, than this program. */
export function pendingMigrations(
  wanted: readonly RenderedMigration[],
  applied: readonly AppliedMigration[],
): readonly RenderedMigration[] {
  const known = new Map(wanted.map((migration) => [migration.id, migration]));
  for (const { id, checksum } of applied) {
    const migration = known.get(id);
    if (migration === undefined) throw newerSchema(id);
    if (migration.checksum !== checksum) throw edited(id);
  }
  const done = new Set(applied.map(({ id }) => id));
  const pending = wanted.filter(({ id }) => !done.has(id));
  for (const { id } of pending) checkNotOvertaken(id, done);
  return pending;
}

/** Units share a transaction on SQLite: a constraint checked at its end would be checked for all of them together. */
function refuseDeferred(id: string, sql: readonly string[]): void {
  if (!sql.some((text) => /\bdeferr/i.test(text))) return;
  throw new StorageError('storage.invalid_migration', `Migration ${id} defers a constraint.`, {
    fix: 'Let the constraint be checked at once, and order the steps of the unit.',
  });
}

function checkOrder(ids: readonly string[]): void {
  const last = new Map<string, number>();
  for (const id of ids) {
    const { owner, number } = parseId(id);
    const expected = (last.get(owner) ?? 0) + 1;
    if (number !== expected) {
      throw new StorageError('storage.invalid_migration', `Migration ${id} is not number ${expected} of ${owner}.`);
    }
    last.set(owner, number);
  }
}

function checkNotOvertaken(id: string, done: ReadonlySet<string>): void {
  const { owner, number } = parseId(id);
  const later = [...done].map(parseId).some((other) => other.owner === owner && other.number > number);
  if (later)
    throw new StorageError('storage.invalid_migration', `Migration ${id} was left out when later ones were applied.`);
}

function parseId(id: string): { owner: string; number: number } {
  const parts = ID.exec(id)?.groups;
  if (parts === undefined)
    throw new StorageError('storage.invalid_migration', `A migration id is malformed: ${JSON.stringify(id)}.`);
  return { owner: String(parts['owner']), number: Number(parts['number']) };
}

function newerSchema(id: string): StorageError {
  return new StorageError(
    'storage.newer_schema',
    `The database holds migration ${id}, which this program does not know.`,
    {
      fix: 'Use the version of Palyra that wrote it, or a newer one; there is no way back to an older schema.',
    },
  );
}

function edited(id: string): StorageError {
  return new StorageError(
    'storage.migration_edited',
    `Migration ${id} was applied with other text than this program has.`,
    {
      fix: 'Restore the text of the migration and put the change into a new one.',
    },
  );
}
