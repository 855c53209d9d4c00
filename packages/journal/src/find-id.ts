import { type ReadQueries, sql } from '@palyra/storage';
import type { SqlBool } from 'kysely';
import { JournalError } from './journal-error.ts';
import { listLogs } from './read-log.ts';
import { firstOf } from './store/entry-id.ts';
import type { JournalSchema, LogRow } from './store/journal-schema.ts';

export interface SoughtId {
  readonly what: 'run' | 'call';
  /** As a person typed it: the whole id, or at least its last four characters. */
  readonly typed: string;
  /** Absent: in every log of the database. */
  readonly log?: { readonly number: number };
}

const WHOLE = 26;
const SHORTEST = 4;
const LISTED = 8;

/**
 * The id that was meant. Throws `journal.not_found` when the log has none, and `journal.invalid_query` when it has
 * several, with their names.
 */
export async function findId(read: ReadQueries<JournalSchema>, { what, typed, log }: SoughtId): Promise<string> {
  const wanted = typed.toUpperCase();
  if (!/^[0-9A-HJKMNP-TV-Z]+$/.test(wanted) || wanted.length < SHORTEST || wanted.length > WHOLE) {
    throw new JournalError('journal.invalid_query', `This is not the id of a ${what}.`, {
      fix: `Give the id, or its last ${SHORTEST} or more characters, as \`palyra journal show\` has it.`,
    });
  }
  const column = what === 'run' ? 'run_id' : 'call_id';
  let query = read.selectFrom('journal_entries').select(column).distinct().where(column, 'is not', null);
  // With a sign, or SQLite would go through the whole log for it: the index of the column tells all that is asked.
  if (log !== undefined)
    query = query.where(sql<SqlBool>`+id >= ${firstOf(log.number)} and +id < ${firstOf(log.number + 1)}`);
  const rows = await query
    .where(column, 'like', `%${wanted}`)
    .limit(LISTED + 1)
    .execute();
  const found = rows.flatMap((row) => (row as Partial<Record<typeof column, string>>)[column] ?? []);
  const [only] = found;
  if (only === undefined) {
    throw new JournalError('journal.not_found', `The log has no ${what} whose id ends in ${wanted}.`, {
      fix: 'Look for it with `palyra journal show`.',
    });
  }
  if (found.length === 1) return only;
  const listed = `${found.slice(0, LISTED).join(', ')}${found.length > LISTED ? ', …' : ''}`;
  throw new JournalError('journal.invalid_query', `Several ids end in ${wanted}: ${listed}.`, {
    fix: 'Give more characters.',
  });
}

/** The log that was meant, by its origin or the end of it. Throws `journal.not_found`, `journal.invalid_query`. */
export async function findLog(read: ReadQueries<JournalSchema>, typed: string): Promise<LogRow> {
  const wanted = typed.toUpperCase();
  const fix = 'Give the origin, or its last 4 or more characters, as `palyra journal logs` has it.';
  if (wanted.length < SHORTEST)
    throw new JournalError('journal.invalid_query', 'This is too short for a log.', { fix });
  const found = (await listLogs(read)).filter(({ origin }) => origin.toUpperCase().endsWith(wanted));
  const [only] = found;
  if (only === undefined) throw new JournalError('journal.not_found', 'There is no such log in this home.', { fix });
  if (found.length === 1) return only;
  throw new JournalError(
    'journal.invalid_query',
    `Several logs have this end: ${found.map((log) => log.origin).join(', ')}.`,
    {
      fix: 'Give more characters.',
    },
  );
}
