import type { ReadQueries } from '@palyra/storage';
import { entryView, type JournalEntry } from './entry-view.ts';
import { isEntryKind } from './format/entry-data.ts';
import type { EntryKind } from './format/entry-kinds.ts';
import { JournalError } from './journal-error.ts';
import { within } from './store/entry-id.ts';
import { EVERY_CALL, type JournalSchema, ONLY_RARE } from './store/journal-schema.ts';

export interface EntryFilter {
  readonly run?: string;
  readonly session?: string;
  readonly call?: string;
  readonly principal?: string;
  readonly tool?: string;
  readonly kinds?: readonly EntryKind[];
  readonly outcome?: string;
  /** Milliseconds since the Unix epoch, the first included and the last not. */
  readonly since?: number;
  readonly until?: number;
}

export interface PageRequest {
  /** Entries after this one, or before it when the newest come first; absent: from the end that comes first. */
  readonly cursor?: number;
  readonly limit?: number;
  readonly order?: 'oldest first' | 'newest first';
}

export interface EntryPage {
  readonly entries: readonly JournalEntry[];
  /** Where the next page begins; absent: there was no more when this one was read. */
  readonly next?: number;
}

export interface LogAddress {
  readonly number: number;
  readonly origin: string;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

/** Throws `journal.invalid_query`, and `journal.invalid_entry` when a row was edited so that it is no entry any more. */
export async function queryEntries(
  read: ReadQueries<JournalSchema>,
  log: LogAddress,
  { cursor, limit = DEFAULT_LIMIT, order = 'oldest first', ...filter }: PageRequest & EntryFilter,
): Promise<EntryPage> {
  checkPage({ limit, ...(cursor === undefined ? {} : { cursor }) }, filter);
  // PostgreSQL has no empty list.
  if (filter.kinds?.length === 0) return { entries: [] };
  const forward = order === 'oldest first';
  const [from, to] = forward ? [(cursor ?? -1) + 1, undefined] : [0, cursor];
  let query = read
    .selectFrom('journal_entries')
    .selectAll()
    .where(within(log.number, from, to));
  for (const [column, value] of equalities(filter)) query = query.where(column, '=', value);
  if (filter.kinds !== undefined) query = query.where('kind', 'in', [...filter.kinds]);
  if (filter.kinds?.every(isRare) === true) query = query.where(ONLY_RARE);
  if (filter.since !== undefined) query = query.where('at', '>=', filter.since);
  if (filter.until !== undefined) query = query.where('at', '<', filter.until);
  // One more than asked for says whether there is a next page.
  const rows = await query
    .orderBy('id', forward ? 'asc' : 'desc')
    .limit(limit + 1)
    .execute();
  const entries = rows.slice(0, limit).map((row) => entryView(row, log.origin));
  const last = entries.at(-1);
  return rows.length > limit && last !== undefined ? { entries, next: last.seq } : { entries };
}

function isRare(kind: EntryKind): boolean {
  return !(EVERY_CALL as readonly string[]).includes(kind);
}

type Column = 'run_id' | 'session_id' | 'call_id' | 'principal' | 'tool' | 'outcome';

function equalities(filter: EntryFilter): readonly (readonly [Column, string])[] {
  const wanted: readonly (readonly [Column, string | undefined])[] = [
    ['run_id', filter.run],
    ['session_id', filter.session],
    ['call_id', filter.call],
    ['principal', filter.principal],
    ['tool', filter.tool],
    ['outcome', filter.outcome],
  ];
  return wanted.filter((pair): pair is readonly [Column, string] => pair[1] !== undefined);
}

function checkPage({ cursor, limit }: PageRequest, { kinds }: EntryFilter): void {
  if (!Number.isSafeInteger(limit) || (limit as number) < 1 || (limit as number) > MAX_LIMIT) {
    throw invalid(`A page has 1 to ${MAX_LIMIT} entries.`);
  }
  if (cursor !== undefined && (!Number.isSafeInteger(cursor) || cursor < -1)) throw invalid('A cursor is a number.');
  if (kinds?.some((kind) => !isEntryKind(kind)) === true) throw invalid('There is no such kind of entry.');
}

function invalid(message: string): JournalError {
  return new JournalError('journal.invalid_query', message, {
    fix: 'docs/reference/journal.md lists what can be asked.',
  });
}
