import { setImmediate } from 'node:timers/promises';
import { type ReadQueries, StorageError } from '@palyra/storage';
import { isTold, LEAST_ID, numberIn, within } from './store/entry-id.ts';
import type { EntryColumns, JournalSchema } from './store/journal-schema.ts';
import type { CheckpointRecord, EntryRecord, LogRecord } from './verify/log-source.ts';

export interface PagesOptions {
  /** Of the log. */
  readonly number: number;
  readonly from: number;
  readonly end: number;
  /** From the base on: rows below it, which no log has, are not passed over either. */
  readonly isWhole: boolean;
  /** There are entries with numbers beyond those that a number can tell apart. */
  readonly hasStray: boolean;
}

const PAGE = 2000;

/** Entries and checkpoints in the order of the log. The next page is read while the last one is looked at. */
export async function* readPages(
  read: ReadQueries<JournalSchema>,
  options: PagesOptions,
): AsyncGenerator<readonly LogRecord[]> {
  const least = options.isWhole ? leastIn(options.number) : options.from;
  let coming: Promise<Page> | undefined = readPage(read, { ...options, seq: least, size: least });
  try {
    while (coming !== undefined) {
      const { records, next }: Page = await coming;
      coming = next === undefined ? undefined : readPage(read, { ...options, ...next });
      // Thrown when its turn comes; until then it is nobody's.
      coming?.catch(() => undefined);
      // Until its question is on the way: else the reader would wait for as long as this thread works on what is here.
      if (coming !== undefined) await setImmediate();
      yield records;
    }
    if (options.hasStray) yield [unreadable(Number.POSITIVE_INFINITY)];
  } finally {
    // Whoever stops early may close the database next.
    await coming?.catch(() => undefined);
  }
}

/** What is before the first log is of none, and so would be before its first entry. */
function leastIn(log: number): number {
  return log === 1 ? numberIn(log, LEAST_ID) : 0;
}

interface Page {
  readonly records: readonly LogRecord[];
  /** Where the next one begins; absent at the end. */
  readonly next: Cursor | undefined;
}

interface Cursor {
  readonly seq: number;
  readonly size: number;
}

async function readPage(
  read: ReadQueries<JournalSchema>,
  { number, end, seq, size }: Pick<PagesOptions, 'number' | 'end'> & Cursor,
): Promise<Page> {
  const entries = await entriesFrom(read, { number, from: seq, end });
  const last = entries.at(-1);
  const hasMore = entries.length === PAGE && last !== undefined;
  const upTo = hasMore ? last.entry.seq + 1 : end;
  const checkpoints = await checkpointsFrom(read, { number, from: size, upTo });
  return { records: merged(entries, checkpoints), next: hasMore ? { seq: upTo, size: upTo + 1 } : undefined };
}

function merged(entries: readonly EntryRecord[], checkpoints: readonly CheckpointRecord[]): readonly LogRecord[] {
  const records: LogRecord[] = [];
  let next = 0;
  for (const entry of entries) {
    for (let at = checkpoints[next]; at !== undefined && at.size <= entry.entry.seq; at = checkpoints[next]) {
      records.push(at);
      next += 1;
    }
    records.push(entry);
  }
  return [...records, ...checkpoints.slice(next)];
}

interface Range {
  readonly number: number;
  readonly from: number;
  readonly end: number;
}

async function entriesFrom(read: ReadQueries<JournalSchema>, range: Range): Promise<readonly EntryRecord[]> {
  try {
    return (await entryRows(read, range).select(COLUMNS).execute()).map((row) => recordOf(row, range));
  } catch (error) {
    if (!(error instanceof StorageError) || error.code === 'storage.closed') throw error;
    return entriesOneByOne(read, range, error);
  }
}

/** A number that was edited to one which cannot be read spoils its whole page, and must not hide which row it is in. */
async function entriesOneByOne(
  read: ReadQueries<JournalSchema>,
  range: Range,
  cause: StorageError,
): Promise<readonly EntryRecord[]> {
  const places = await entryRows(read, range)
    .select('id')
    .execute()
    .catch(() => {
      throw cause;
    });
  const records: EntryRecord[] = [];
  for (const { id } of places) {
    const seq = numberIn(range.number, id);
    const [row] = await entryRows(read, { ...range, from: seq, end: seq + 1 })
      .select(COLUMNS)
      .execute()
      .catch(() => [undefined]);
    records.push(row === undefined ? unreadable(seq) : recordOf(row, range));
    if (row === undefined) break;
  }
  return records;
}

/** Those that are stored: what the id tells would be copied to this thread with every row. */
const COLUMNS = [
  'id',
  'at',
  'actor',
  'kind',
  'version',
  'data',
  'hash',
  'run_id',
  'session_id',
  'call_id',
  'principal',
  'tool',
  'outcome',
] as const satisfies readonly (keyof EntryColumns)[];

function entryRows(read: ReadQueries<JournalSchema>, { number, from, end }: Range) {
  return (
    read
      .selectFrom('journal_entries')
      .where(within(number, from, end))
      // SECURITY: T-31 — one that is shown by another number is missed here.
      .where(isTold('seq'))
      .orderBy('id')
      .limit(PAGE)
  );
}

function recordOf(row: EntryColumns, { number }: Range): EntryRecord {
  const { id, at: time, actor, kind, version, data, hash } = row;
  const { run_id, session_id, call_id, principal, tool, outcome } = row;
  return {
    kind: 'entry',
    entry: { seq: numberIn(number, id), time, actor, kind, version, data },
    hash,
    index: { run_id, session_id, call_id, principal, tool, outcome },
  };
}

/** Stands for a row of which no more can be read than that it is there. */
function unreadable(seq: number): EntryRecord {
  const entry = { seq, time: Number.NaN, actor: '', kind: '', version: 0, data: '' };
  return { kind: 'entry', entry, hash: new Uint8Array() };
}

async function checkpointsFrom(
  read: ReadQueries<JournalSchema>,
  { number, from, upTo }: { readonly number: number; readonly from: number; readonly upTo: number },
): Promise<readonly CheckpointRecord[]> {
  const rows = await read
    .selectFrom('journal_checkpoints')
    .select(['id', 'note'])
    .where(within(number, from, upTo + 1))
    .where(isTold('size'))
    .orderBy('id')
    // More than these stand beside a page only when its entries are gone, and then the first of them says so.
    .limit(PAGE + 2)
    .execute();
  return rows.map(({ id, note }) => ({ kind: 'checkpoint', size: numberIn(number, id), note }));
}
