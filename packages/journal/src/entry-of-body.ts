import type { ReadQueries } from '@palyra/storage';
import { entryView, type JournalEntry } from './entry-view.ts';
import { idOf } from './store/entry-id.ts';
import type { JournalSchema } from './store/journal-schema.ts';

/**
 * The entry that a body came with, also of a log that ended with a recovery. Undefined when it is not there, or no longer.
 * Throws `journal.invalid_entry` when somebody edited it.
 */
export async function entryOfBody(
  read: ReadQueries<JournalSchema>,
  commitment: string,
): Promise<JournalEntry | undefined> {
  const body = await read
    .selectFrom('journal_bodies')
    .innerJoin('journal_logs', 'journal_logs.number', 'journal_bodies.log')
    .select(['journal_bodies.log', 'journal_bodies.seq', 'journal_logs.origin'])
    .where('commitment', '=', commitment)
    .executeTakeFirst();
  if (body === undefined) return undefined;
  const row = await read
    .selectFrom('journal_entries')
    .selectAll()
    .where('id', '=', idOf(body.log, body.seq))
    .executeTakeFirst();
  return row === undefined ? undefined : entryView(row, body.origin);
}
