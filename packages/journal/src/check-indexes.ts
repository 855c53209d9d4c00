import { sql } from '@palyra/storage';
import type { RawBuilder } from 'kysely';
import { type ReadJournal, rowsOf } from './raw-rows.ts';
import { numberIn, within } from './store/entry-id.ts';
import { ENTRY_INDEXES_BY_ID, type EntryIndex } from './store/journal-schema.ts';
import type { Finding } from './verify/report.ts';

export interface IndexRange {
  /** Of the log. */
  readonly number: number;
  /** The first entry that is looked at. */
  readonly from: number;
  readonly signal: AbortSignal;
}

/** Some 15 ms each: what reads the log waits no longer than that. */
const PAGE = 10_000;

/**
 * Whether the indexes of entries hold what the entries say, no less and no more: as `pragma integrity_check` does, but in
 * statements so short that none keeps the write-ahead log from being emptied, and beside those that read the log. Each
 * sees one state of the database, in which index and table agree unless somebody made them differ.
 */
export async function indexesEdited(
  read: ReadJournal,
  { number, from, signal }: IndexRange,
): Promise<Finding | undefined> {
  const held = new Map<EntryIndex, number>();
  let end = from;
  for (let next: number | null = from; next !== null; ) {
    if (signal.aborted) return undefined;
    end = next + PAGE;
    const page: Page | undefined = await readPage(read, { number, from: next, to: end });
    const lacking = INDEXES.find((index) => page?.[`${index}_held`] !== page?.[index]);
    if (lacking !== undefined) return leftOut(read, lacking, { number, from: next, to: end });
    for (const index of INDEXES) held.set(index, (held.get(index) ?? 0) + (page?.[index] ?? 0));
    next = page?.next == null ? null : numberIn(number, page.next);
  }
  const counted = await countHeld(read, within(number, from, end));
  if (INDEXES.every((index) => counted?.[index] === held.get(index))) return undefined;
  // Some may have been pruned meanwhile: once more, in one statement.
  const surplus = await readSurplus(read, within(number, from));
  const forged = INDEXES.find((index) => surplus?.[index] !== 0);
  if (forged === undefined) return undefined;
  return { code: 'index_edited', why: `The index ${forged} holds what no entry says.` };
}

const INDEXES = Object.keys(ENTRY_INDEXES_BY_ID) as readonly EntryIndex[];
type ByIndex = { readonly [Name in EntryIndex]: number };
type Condition = RawBuilder<unknown>;

/** How many entries of the page belong in each index, and how many of them are there. */
type Page = ByIndex & { readonly [Name in EntryIndex as `${Name}_held`]: number } & {
  /** The first entry after the page. */
  readonly next: number | null;
};

interface PageRange {
  readonly number: number;
  readonly from: number;
  readonly to: number;
}

async function readPage(read: ReadJournal, { number, from, to }: PageRange): Promise<Page | undefined> {
  const looks = INDEXES.map((index) => {
    const { name, condition } = wordsOf(index);
    return sql`count(case when ${condition} then 1 end) as ${name}, count(${lookUp(index)}) as ${name}_held`;
  });
  // By number, and then from the next that there is: whoever puts an entry far behind keeps nobody busy with what is between.
  const next = sql`(select min(id) from journal_entries not indexed where ${within(number, to)}) as next`;
  const [page] = await rowsOf<Page>(
    read,
    sql`select ${next}, ${sql.join(looks)} from journal_entries as page not indexed where ${within(number, from, to)}`,
  );
  return page;
}

async function leftOut(read: ReadJournal, index: EntryIndex, { number, from, to }: PageRange): Promise<Finding> {
  const { condition } = wordsOf(index);
  const [first] = await rowsOf<{ readonly id: number }>(
    read,
    sql`select id from journal_entries as page not indexed
        where ${within(number, from, to)} and ${condition} and ${lookUp(index)} is null order by id limit 1`,
  );
  // It was pruned since.
  if (first === undefined) return { code: 'index_edited', why: `The index ${index} leaves entries out.` };
  const seq = numberIn(number, first.id);
  return { code: 'index_edited', seq, why: `Entry ${seq} is not in the index ${index}, by which it is looked for.` };
}

/** Null unless the entry is in the index. */
function lookUp(index: EntryIndex): Condition {
  const { name, column, condition } = wordsOf(index);
  return sql`(select 1 from journal_entries as held indexed by ${name}
      where held.${column} = page.${column} and held.id = page.id and ${condition})`;
}

async function countHeld(read: ReadJournal, range: Condition): Promise<ByIndex | undefined> {
  const counts = INDEXES.map((index) => sql`${heldIn(index, range)} as ${wordsOf(index).name}`);
  const [row] = await rowsOf<ByIndex>(read, sql`select ${sql.join(counts)}`);
  return row;
}

/** How many more an index holds than the entries say: if every entry is in it, what is left over is nobody's. */
async function readSurplus(read: ReadJournal, range: Condition): Promise<ByIndex | undefined> {
  const counts = INDEXES.map((index) => {
    const { name, condition } = wordsOf(index);
    return sql`${heldIn(index, range)} - coalesce(sum(${condition}), 0) as ${name}`;
  });
  const [row] = await rowsOf<ByIndex>(
    read,
    sql`select ${sql.join(counts)} from journal_entries not indexed where ${range}`,
  );
  return row;
}

function heldIn(index: EntryIndex, range: Condition): Condition {
  const { name, condition } = wordsOf(index);
  return sql`(select count(*) from journal_entries indexed by ${name} where ${condition} and ${range})`;
}

function wordsOf(index: EntryIndex): Readonly<Record<'name' | 'column' | 'condition', Condition>> {
  const { column, condition } = ENTRY_INDEXES_BY_ID[index];
  return { name: sql.raw(index), column: sql.raw(column), condition: sql.raw(condition) };
}
