import { type ColumnTypes, type Migration, sql } from '@palyra/storage';
import type { GeneratedAlways, RawBuilder, SqlBool } from 'kysely';
import { firstOf, LOG_OF_ID, NUMBER_OF_ID } from './entry-id.ts';

/** One log per origin; the one with the highest number is being written, the others ended with a recovery. */
export interface LogRow {
  readonly number: number;
  readonly origin: string;
  /** Hexadecimal. */
  readonly root_key: string;
  readonly size: number;
  /** The hash of the last entry. */
  readonly head: Uint8Array;
  readonly frontier: Uint8Array;
  /** The size of the newest checkpoint. */
  readonly sealed: number;
  /** Entries before this one were pruned; their hashes are in the tiles. */
  readonly pruned: number;
}

export interface EntryColumns {
  /** Its log and its number in it. */
  readonly id: number;
  readonly at: number;
  readonly actor: string;
  readonly kind: string;
  readonly version: number;
  readonly data: string;
  readonly hash: Uint8Array;
  readonly run_id: string | null;
  readonly session_id: string | null;
  readonly call_id: string | null;
  readonly principal: string;
  readonly tool: string | null;
  readonly outcome: string | null;
}

/** As it is read. */
export interface EntryRow extends EntryColumns {
  readonly log: number;
  readonly seq: number;
}

export interface BodyRow {
  readonly commitment: string;
  readonly log: number;
  /** The entry that refers to it. */
  readonly seq: number;
  readonly salt: Uint8Array | null;
  readonly body: Uint8Array | null;
  readonly place: string;
  readonly bytes: number;
  readonly total_bytes: number;
  /** The `body.erased` entry, and the log it is in: bodies outlive a recovery. */
  readonly erased_by: number | null;
  readonly erased_in: number | null;
}

export interface KeyRow {
  readonly log: number;
  readonly seq: number;
  readonly change: string;
  readonly role: string;
  readonly public_key: string;
  readonly position: number;
  readonly signature: string;
}

export interface SegmentRow {
  readonly log: number;
  readonly first: number;
  readonly next: number;
  readonly sealed_by: number;
  /** SHA-256 of the archive file, once there is one. */
  readonly archive: string | null;
}

/** Columns that follow from the id. */
type Told<Column extends string> = { readonly [Name in Column]: GeneratedAlways<number> };

export interface JournalSchema {
  readonly journal_logs: LogRow;
  readonly journal_entries: EntryColumns & Told<'log' | 'seq'>;
  readonly journal_checkpoints: { readonly id: number; readonly note: string } & Told<'log' | 'size'>;
  /** Roots of complete subtrees of 2^8, 2^16, … leaves. */
  readonly journal_nodes: {
    readonly log: number;
    readonly level: number;
    readonly place: number;
    readonly hash: Uint8Array;
  };
  /** The hashes of pruned entries, 256 in a row, so that proofs still reach back to the beginning. */
  readonly journal_tiles: { readonly log: number; readonly tile: number; readonly hashes: Uint8Array };
  readonly journal_keys: KeyRow;
  readonly journal_bodies: BodyRow;
  readonly journal_snapshots: { readonly digest: string; readonly text: string };
  readonly journal_segments: SegmentRow;
}

export const TILE = 256;
/** Levels of the tree that are kept; those between follow from them and the entries. */
export const KEPT_LEVEL = 8;

/**
 * The kinds that every call has, so that going through the log finds one soon. The others are few, and have an index; it
 * costs nothing to append what is not in it. Principals, tools and times are found by going through the log as well: each
 * index would take a page of every commit, and commits are what everybody waits for.
 */
export const EVERY_CALL = ['proposal', 'decision', 'intent', 'outcome', 'attestation'] as const;

const NOT_EVERY_CALL = `kind not in (${EVERY_CALL.map((kind) => `'${kind}'`).join(', ')})`;

/** A condition in the very words of the index, or the databases do not see that it answers the query. */
export const ONLY_RARE: RawBuilder<SqlBool> = sql.raw(NOT_EVERY_CALL);

function entryColumns(t: ColumnTypes): string {
  return `(
         log ${t.integer} not null, seq ${t.integer} not null, at ${t.integer} not null, actor ${t.text} not null,
         kind ${t.text} not null, version ${t.integer} not null, data ${t.text} not null, hash ${t.bytes} not null,
         run_id ${t.text}, session_id ${t.text}, call_id ${t.text}, principal ${t.text} not null, tool ${t.text},
         outcome ${t.text}, primary key (log, seq)
       )`;
}

function checkpointColumns(t: ColumnTypes): string {
  return `(
         log ${t.integer} not null, size ${t.integer} not null, note ${t.text} not null, primary key (log, size)
       )`;
}

const ENTRY_INDEXES: readonly string[] = [
  'create index journal_entries_run on journal_entries (log, run_id, seq) where run_id is not null',
  'create index journal_entries_call on journal_entries (log, call_id, seq) where call_id is not null',
  `create index journal_entries_rare on journal_entries (log, kind, seq) where ${NOT_EVERY_CALL}`,
];

/** What every commit writes lies in one tree and not in two: a page less of each of them to write and to flush. */
function* layByKey(t: ColumnTypes): Generator<string> {
  const tables = { journal_entries: entryColumns(t), journal_checkpoints: checkpointColumns(t) };
  for (const [table, columns] of Object.entries(tables)) {
    yield `create table ${table}_by_key ${columns}${t.strictByKey}`;
    yield `insert into ${table}_by_key select * from ${table} order by 1, 2`;
    yield `drop table ${table}`;
    yield `alter table ${table}_by_key rename to ${table}`;
  }
  yield* ENTRY_INDEXES;
}

/**
 * SQLite counts on ten rows for every first column of an index, and so takes the key of a log, which all its entries share,
 * for as good as a call's: it read the whole log to see whether a call was attested. These are a long log's proportions.
 */
const PROPORTIONS: Readonly<Record<string, string>> = {
  journal_entries: '1000000 500000 1',
  journal_entries_run: '1000000 500000 500 1',
  journal_entries_call: '1000000 500000 5 1',
  journal_entries_rare: '10000 5000 100 1',
};

function* tellProportions(of: Readonly<Record<string, string>>): Generator<string> {
  yield 'analyze journal_entries';
  yield "delete from sqlite_stat1 where tbl = 'journal_entries'";
  for (const [index, proportions] of Object.entries(of)) {
    yield `insert into sqlite_stat1 (tbl, idx, stat) values ('journal_entries', '${index}', '${proportions}')`;
  }
  yield 'analyze sqlite_schema';
}

/** What is in both tables, and the columns that are told by the id. */
const BY_ID: Readonly<Record<string, { readonly columns: string; readonly number: string }>> = {
  journal_entries: {
    columns: 'at, actor, kind, version, data, hash, run_id, session_id, call_id, principal, tool, outcome',
    number: 'seq',
  },
  journal_checkpoints: { columns: 'note', number: 'size' },
};

/**
 * A table that lies by a key of several columns keeps whole rows in the inner pages of its tree too, five or six to a page,
 * and SQLite fills such a tree by sharing out anew what three pages hold. By one integer, rows fill page after page, nothing
 * else is touched, and the indexes need name nothing but what they are for.
 */
function* layById(t: ColumnTypes): Generator<string> {
  // PostgreSQL has no columns that are computed when they are read.
  const kept = t.strictByKey === '' ? 'stored' : 'virtual';
  // Another node may still append: what it commits between the copy and the end of the old table would go with that.
  if (t.strictByKey === '') yield `lock table ${Object.keys(BY_ID).join(', ')} in access exclusive mode`;
  for (const [table, { columns, number }] of Object.entries(BY_ID)) {
    const told = (name: string, how: string) => `${name} ${t.integer} generated always as (${how}) ${kept}`;
    yield `create table ${table}_by_id (
         id ${t.integer} primary key, ${table === 'journal_entries' ? idEntryColumns(t) : `note ${t.text} not null`},
         ${told('log', LOG_OF_ID)}, ${told(number, NUMBER_OF_ID)}
       )${t.strict}`;
    yield `insert into ${table}_by_id (id, ${columns})
         select log * ${firstOf(1)} + ${number}, ${columns} from ${table} order by log, ${number}`;
    yield `drop table ${table}`;
    yield `alter table ${table}_by_id rename to ${table}`;
  }
  // In SQLite the id is behind the columns of every index by itself.
  const id = t.strictByKey === '' ? ', id' : '';
  yield `create index journal_entries_run on journal_entries (run_id${id}) where run_id is not null`;
  yield `create index journal_entries_call on journal_entries (call_id${id}) where call_id is not null`;
  yield `create index journal_entries_rare on journal_entries (kind${id}) where ${NOT_EVERY_CALL}`;
}

function idEntryColumns(t: ColumnTypes): string {
  return `at ${t.integer} not null, actor ${t.text} not null, kind ${t.text} not null, version ${t.integer} not null,
         data ${t.text} not null, hash ${t.bytes} not null, run_id ${t.text}, session_id ${t.text}, call_id ${t.text},
         principal ${t.text} not null, tool ${t.text}, outcome ${t.text}`;
}

const PROPORTIONS_BY_ID: Readonly<Record<string, string>> = {
  journal_entries_run: '1000000 500',
  journal_entries_call: '1000000 5',
  journal_entries_rare: '10000 100',
};

/** What each index of entries is by, and which entries it holds, in its own words. */
export const ENTRY_INDEXES_BY_ID: Readonly<
  Record<EntryIndex, { readonly column: string; readonly condition: string }>
> = {
  journal_entries_run: { column: 'run_id', condition: 'run_id is not null' },
  journal_entries_call: { column: 'call_id', condition: 'call_id is not null' },
  journal_entries_rare: { column: 'kind', condition: NOT_EVERY_CALL },
};

export type EntryIndex = 'journal_entries_run' | 'journal_entries_call' | 'journal_entries_rare';

export const JOURNAL_MIGRATIONS: readonly Migration[] = [
  {
    id: 'journal/0001-log',
    statements: (t) => [
      `create table journal_logs (
         number ${t.integer} primary key, origin ${t.text} not null unique, root_key ${t.text} not null,
         size ${t.integer} not null, head ${t.bytes} not null, frontier ${t.bytes} not null,
         sealed ${t.integer} not null, pruned ${t.integer} not null
       )${t.strict}`,
      `create table journal_entries ${entryColumns(t)}${t.strict}`,
      ...ENTRY_INDEXES,
      `create table journal_checkpoints ${checkpointColumns(t)}${t.strict}`,
      `create table journal_nodes (
         log ${t.integer} not null, level ${t.integer} not null, place ${t.integer} not null, hash ${t.bytes} not null,
         primary key (log, level, place)
       )${t.strict}`,
      `create table journal_tiles (
         log ${t.integer} not null, tile ${t.integer} not null, hashes ${t.bytes} not null, primary key (log, tile)
       )${t.strict}`,
      `create table journal_keys (
         log ${t.integer} not null, seq ${t.integer} not null, change ${t.text} not null, role ${t.text} not null,
         public_key ${t.text} not null, position ${t.integer} not null, signature ${t.text} not null,
         primary key (log, seq)
       )${t.strict}`,
      `create table journal_bodies (
         commitment ${t.text} primary key, log ${t.integer} not null, seq ${t.integer} not null, salt ${t.bytes},
         body ${t.bytes}, place ${t.text} not null, bytes ${t.integer} not null, total_bytes ${t.integer} not null,
         erased_by ${t.integer}, erased_in ${t.integer}
       )${t.strict}`,
      'create index journal_bodies_entry on journal_bodies (log, seq)',
      `create table journal_snapshots (digest ${t.text} primary key, text ${t.text} not null)${t.strict}`,
      `create table journal_segments (
         log ${t.integer} not null, first ${t.integer} not null, next ${t.integer} not null,
         sealed_by ${t.integer} not null, archive ${t.text}, primary key (log, first)
       )${t.strict}`,
    ],
  },
  {
    id: 'journal/0002-by-key',
    // PostgreSQL keeps rows as they come.
    statements: (t) => (t.strictByKey === '' ? [] : [...layByKey(t)]),
  },
  {
    id: 'journal/0003-proportions',
    // PostgreSQL counts for itself.
    statements: (t) => (t.strictByKey === '' ? [] : [...tellProportions(PROPORTIONS)]),
  },
  {
    id: 'journal/0004-by-id',
    statements: (t) => [...layById(t), ...(t.strictByKey === '' ? [] : tellProportions(PROPORTIONS_BY_ID))],
  },
];
