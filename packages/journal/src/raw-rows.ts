import { type ReadQueries, sql } from '@palyra/storage';
import type { RawBuilder } from 'kysely';
import type { JournalSchema } from './store/journal-schema.ts';

export type ReadJournal = ReadQueries<JournalSchema>;

/** For queries that only one database understands, or about what is in none of our tables. */
export async function rowsOf<Row>(read: ReadJournal, query: RawBuilder<unknown>): Promise<readonly Row[]> {
  const rows = await read.selectFrom(sql<Row>`(${query})`.as('found')).selectAll().execute();
  return rows as unknown as readonly Row[];
}
