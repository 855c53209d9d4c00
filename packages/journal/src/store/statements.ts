import { sql } from '@palyra/storage';
import type { Compilable, Kysely } from 'kysely';
import type { BodyRow, EntryColumns, JournalSchema } from './journal-schema.ts';

/** The statements of every append, compiled once: building them each time costs more than running them. */
export interface JournalStatements {
  readonly selectLog: string;
  readonly selectUnsealed: string;
  readonly insertEntries: RowsStatement;
  readonly insertBodies: RowsStatement;
  /** By log, role and key. */
  readonly selectKey: string;
  /** By call, from an id up to another. */
  readonly selectAttestation: string;
  readonly insertNode: string;
  readonly updateLog: string;
  readonly insertCheckpoint: string;
}

/** For so many rows each, the most first, and for one. */
export type RowsStatement = readonly { readonly count: number; readonly sql: string }[];

export type StatementValue = string | number | Uint8Array | null;

/** A statement that must touch one row. */
export interface OneRow {
  readonly kind: 'statement';
  readonly sql: string;
  readonly parameters: readonly StatementValue[];
  readonly rows: 1;
}

export function one(text: string, parameters: readonly StatementValue[]): OneRow {
  return { kind: 'statement', sql: text, parameters, rows: 1 };
}

/** By builder, because SQLite and PostgreSQL spell parameters differently. Text only: no state of the log is kept. */
const compiled = new WeakMap<object, JournalStatements>();

export function statementsFor(build: Kysely<never>): JournalStatements {
  const known = compiled.get(build);
  if (known !== undefined) return known;
  const made = compileAll(build as unknown as Kysely<JournalSchema>);
  compiled.set(build, made);
  return made;
}

const NO_BYTES = new Uint8Array();

const ENTRY: EntryColumns = {
  id: 0,
  at: 0,
  actor: '',
  kind: '',
  version: 0,
  data: '',
  hash: NO_BYTES,
  run_id: '',
  session_id: '',
  call_id: '',
  principal: '',
  tool: '',
  outcome: '',
};

const BODY: BodyRow = {
  commitment: '',
  log: 0,
  seq: 0,
  salt: NO_BYTES,
  body: NO_BYTES,
  place: '',
  bytes: 0,
  total_bytes: 0,
  erased_by: 0,
  erased_in: 0,
};

function compileAll(db: Kysely<JournalSchema>): JournalStatements {
  return {
    selectLog: sqlOf(db.selectFrom('journal_logs').selectAll().orderBy('number', 'desc')),
    selectUnsealed: sqlOf(db.selectFrom('journal_logs').selectAll().whereRef('size', '>', 'sealed').orderBy('number')),
    // A call has two and three entries in a commit, with as many bodies, or all five in one.
    insertEntries: [32, 8, 5, 3, 2, 1].map((count) => ({
      count,
      sql: sqlOf(db.insertInto('journal_entries').values(Array.from({ length: count }, () => ENTRY))),
    })),
    insertBodies: [5, 3, 2, 1].map((count) => ({
      count,
      sql: sqlOf(db.insertInto('journal_bodies').values(Array.from({ length: count }, () => BODY))),
    })),
    selectKey: sqlOf(
      db
        .selectFrom('journal_keys')
        .select('change')
        .where('log', '=', 0)
        .where('role', '=', '')
        .where('public_key', '=', ''),
    ),
    selectAttestation: sqlOf(
      db
        .selectFrom('journal_entries')
        .select('id')
        .where('call_id', '=', '')
        .where('id', '>=', 0)
        .where('id', '<', 0)
        .where('kind', '=', sql.lit('attestation')),
    ),
    insertNode: sqlOf(db.insertInto('journal_nodes').values({ log: 0, level: 0, place: 0, hash: NO_BYTES })),
    updateLog: sqlOf(
      db
        .updateTable('journal_logs')
        .set({ size: 0, head: NO_BYTES, frontier: NO_BYTES, sealed: 0 })
        .where('number', '=', 0),
    ),
    insertCheckpoint: sqlOf(db.insertInto('journal_checkpoints').values({ id: 0, note: '' })),
  };
}

/** The values are given anew each time, in the order written above. */
function sqlOf(query: Compilable): string {
  return query.compile().sql;
}
