import { madeSchema, type ReadOnlyDatabase, type SchemaObject, sql } from '@palyra/storage';
import { indexesEdited } from './check-indexes.ts';
import { type ReadJournal, rowsOf } from './raw-rows.ts';
import { JOURNAL_MIGRATIONS, type JournalSchema, type LogRow } from './store/journal-schema.ts';
import type { Finding, VerifiedState } from './verify/report.ts';

export interface TableCheck {
  readonly database: Pick<ReadOnlyDatabase<JournalSchema>, 'read' | 'dialect'>;
  readonly logs: readonly LogRow[];
  /** Entries before it were looked at then. */
  readonly start?: VerifiedState | undefined;
  /** Aborted when nobody wants to know any more. */
  readonly signal: AbortSignal;
}

export interface TableFinding {
  readonly origin: string;
  readonly finding: Finding;
}

/**
 * Whether whoever looks something up finds what the tables hold. PostgreSQL keeps no text of its schema and lets nobody
 * write an index by hand: there it is not looked at. Throws `storage.newer_schema`.
 * SECURITY: T-31 — an index that leaves a call out hides it from every look-up, and the verifier walks the table itself.
 */
export async function tablesEdited({ database, logs, start, signal }: TableCheck): Promise<TableFinding | undefined> {
  if (database.dialect !== 'sqlite') return undefined;
  const edited = await schemaEdited(database.read);
  if (edited !== undefined) return { origin: logs.at(-1)?.origin ?? '', finding: edited };
  for (const { number, origin } of logs) {
    const from = start?.origin === origin ? start.size : 0;
    const finding = await indexesEdited(database.read, { number, from, signal });
    if (finding !== undefined) return { origin, finding };
  }
  return undefined;
}

async function schemaEdited(read: ReadJournal): Promise<Finding | undefined> {
  const applied = await rowsOf<{ readonly id: string }>(
    read,
    sql`select id from palyra_migrations where id like 'journal/%'`,
  );
  const made = madeSchema(JOURNAL_MIGRATIONS, new Set(applied.map(({ id }) => id)));
  // By its words as well: an index can be entered under another table than the one it is on.
  const found = await rowsOf<SchemaObject>(
    read,
    sql`select name, sql from sqlite_schema
        where tbl_name like 'journal!_%' escape '!' or sql like '%journal!_%' escape '!'`,
  );
  const other = found.find(({ name, sql: text }) => made.get(name)?.sql !== text);
  const gone = [...made.keys()].find((name) => !found.some((each) => each.name === name));
  if (other !== undefined) {
    const name = JSON.stringify(other.name);
    return changed(
      made.has(other.name)
        ? `The table or index ${name} is not as Palyra makes it.`
        : `The table or index ${name} is none of Palyra’s.`,
    );
  }
  return gone === undefined ? undefined : changed(`The table or index ${gone} is not there.`);
}

function changed(why: string): Finding {
  return { code: 'schema_edited', why: `${why} What is looked up may not be found.` };
}
