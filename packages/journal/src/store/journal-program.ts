import { type ProgramRun, rowsOf, type WriterProgram } from '@palyra/storage';
import type { Kysely } from 'kysely';
import { hexOf } from '../format/bytes.ts';
import { entryHash } from '../format/entry.ts';
import { addLeaf, type CompletedNode } from '../format/merkle-tree.ts';
import { JournalError } from '../journal-error.ts';
import { nodeSha256 } from '../node-crypto.ts';
import { applyEntry, hasAct } from './apply-entry.ts';
import type { JournalSchema, LogRow } from './journal-schema.ts';
import { KEPT_LEVEL } from './journal-schema.ts';
import { currentLogRow, type HeadMemory, keepHead, type LogHead, readHead } from './log-head.ts';
import type { PreparedBody, PreparedEntry } from './prepared-entry.ts';
import { type JournalSettings, sealLogs } from './seal-logs.ts';
import { type JournalStatements, type OneRow, one, type StatementValue, statementsFor } from './statements.ts';

export const JOURNAL_PROGRAM = 'journal';

export interface JournalInput {
  readonly entries: readonly PreparedEntry[];
  /** The log that they are for; entries that name its hashes would mean nothing in another. */
  readonly origin?: string;
  /** Begins a log of this origin first. Only where there is none, or with `after`: where that one is the current. */
  readonly create?: { readonly origin: string; readonly rootKey: string; readonly after?: string };
}

export interface AppendedEntry {
  readonly seq: number;
  /** Hexadecimal. */
  readonly hash: string;
}

export interface JournalOutput {
  readonly origin: string;
  readonly entries: readonly AppendedEntry[];
}

/**
 * Gives entries their place: the next numbers, the link to the entry before, and their leaves in the tree. It is the
 * only writer of the journal's tables, and one at a time, so the chain cannot fork.
 */
const journal: WriterProgram<JournalInput, JournalOutput, JournalSettings, LogHead> = {
  name: JOURNAL_PROGRAM,
  *run(build, { entries, create, origin }, { memory }): ProgramRun<JournalOutput> {
    if (create !== undefined) yield* begin(build, create, memory);
    const head = memory.get() ?? (yield* readHead(build));
    if (head === undefined) throw new JournalError('journal.no_log', 'There is no log to append to.');
    if (origin !== undefined && head.log.origin !== origin) {
      throw new JournalError('journal.no_log', 'A new log was begun meanwhile; palyrad must be started again.');
    }
    const { next, appended } = yield* appendTo(head, entries, build);
    memory.set(next);
    if (entries.some(hasAct)) {
      // What entries do to the journal's own tables needs the log's row as it is after them, and may change it.
      yield* keepHead(build, memory);
      for (const [at, entry] of entries.entries()) {
        yield* applyEntry(entry, { log: head.log, seq: head.frontier.size + at, build });
      }
    }
    return { origin: head.log.origin, entries: appended };
  },
  *seal(build, { settings, memory }) {
    return yield* sealLogs(build, { settings, memory });
  },
};

export default journal;

function* begin(
  build: Kysely<never>,
  create: NonNullable<JournalInput['create']>,
  memory: HeadMemory,
): ProgramRun<void> {
  yield* keepHead(build, memory);
  yield* createLog(build, create, yield* currentLogRow(build));
}

function* createLog(
  build: Kysely<never>,
  { origin, rootKey, after }: NonNullable<JournalInput['create']>,
  current: LogRow | undefined,
): ProgramRun<void> {
  if (current?.origin !== after)
    throw new JournalError('journal.log_exists', 'There is a log in this database already.');
  const log: LogRow = {
    number: (current?.number ?? 0) + 1,
    origin,
    root_key: rootKey,
    size: 0,
    head: new Uint8Array(32),
    frontier: new Uint8Array(),
    sealed: 0,
    pruned: 0,
  };
  yield* rowsOf((build as unknown as Kysely<JournalSchema>).insertInto('journal_logs').values(log));
}

function* appendTo(
  { log, ...head }: LogHead,
  entries: readonly PreparedEntry[],
  build: Kysely<never>,
): ProgramRun<{ readonly next: LogHead; readonly appended: readonly AppendedEntry[] }> {
  const statements = statementsFor(build);
  let { frontier, previous } = head;
  const appended: AppendedEntry[] = [];
  const completed: CompletedNode[] = [];
  const adding = { sha256: nodeSha256, completed: (node: CompletedNode) => void completed.push(node) };
  const rows: StatementValue[][] = [];
  const bodies: OneRow[] = [];
  for (const { fields, bodies: of } of entries) {
    const { size: seq } = frontier;
    const [time, actor, kind, version, data, ...index] = fields;
    const hash = entryHash({ origin: log.origin, seq, previous, time, actor, kind, version, data }, nodeSha256);
    frontier = addLeaf(frontier, hash, adding);
    previous = hash;
    appended.push({ seq, hash: hexOf(hash) });
    rows.push([log.number, seq, time, actor, kind, version, data, hash, ...index]);
    for (const body of of) bodies.push(insertBody(statements.insertBody, body, { log: log.number, seq }));
  }
  yield* insertAll(rows, statements);
  for (const body of bodies) yield body;
  for (const { level, index, hash } of completed) {
    if (level % KEPT_LEVEL === 0) yield one(statements.insertNode, [log.number, level, index, hash]);
  }
  return { next: { log, frontier, previous }, appended };
}

/** Many rows to a statement: calling the database costs as much as putting in a row. */
function* insertAll(
  rows: readonly (readonly StatementValue[])[],
  { insertEntries }: JournalStatements,
): ProgramRun<void> {
  let at = 0;
  for (const { count, sql } of insertEntries) {
    for (; rows.length - at >= count; at += count) {
      yield { kind: 'statement', sql, parameters: rows.slice(at, at + count).flat(), rows: count };
    }
  }
}

function insertBody(sql: string, body: PreparedBody, at: { readonly log: number; readonly seq: number }): OneRow {
  const isFile = body.content === 'file';
  return one(sql, [
    body.commitment,
    at.log,
    at.seq,
    body.salt,
    body.content === 'file' ? null : body.content,
    isFile ? 'file' : 'row',
    body.bytes,
    body.totalBytes,
    null,
  ]);
}
