import { type ProgramRun, rowsOf, type TransactionMemory, type WriterProgram } from '@palyra/storage';
import type { Kysely } from 'kysely';
import { hexOf } from '../format/bytes.ts';
import { entryHash } from '../format/entry.ts';
import { addLeaf, type CompletedNode, decodeFrontier, encodeFrontier, type Frontier } from '../format/merkle-tree.ts';
import { JournalError } from '../journal-error.ts';
import { nodeSha256 } from '../node-crypto.ts';
import { applyEntry, hasAct } from './apply-entry.ts';
import type { JournalSchema, LogRow } from './journal-schema.ts';
import { KEPT_LEVEL } from './journal-schema.ts';
import { type JournalSettings, sealLogs } from './seal-logs.ts';
import { one, statementsFor } from './statements.ts';

export const JOURNAL_PROGRAM = 'journal';

/** An entry that has been checked and spelled; what is missing is its place in the log. */
export interface PreparedEntry {
  readonly time: number;
  readonly actor: string;
  readonly kind: string;
  readonly version: number;
  /** Canonical JSON. */
  readonly data: string;
  readonly index: {
    readonly run_id: string | null;
    readonly session_id: string | null;
    readonly call_id: string | null;
    readonly principal: string;
    readonly tool: string | null;
    readonly outcome: string | null;
  };
  readonly bodies: readonly PreparedBody[];
}

export interface PreparedBody {
  readonly commitment: string;
  readonly salt: Uint8Array;
  readonly bytes: number;
  readonly totalBytes: number;
  readonly content: Uint8Array | 'file';
}

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
    yield* keepHead(build, memory);
    return yield* sealLogs(build, settings);
  },
};

export default journal;

/** Where the next entry goes. Between the units of a transaction it is only remembered; the row is written at the end. */
interface LogHead {
  readonly log: LogRow;
  readonly frontier: Frontier;
  /** The hash of the last entry. */
  readonly previous: Uint8Array;
}

function* readHead(build: Kysely<never>): ProgramRun<LogHead | undefined> {
  const log = yield* currentLog(build);
  if (log === undefined) return undefined;
  const frontier = decodeFrontier(log.size, log.frontier);
  if (frontier === undefined) throw new JournalError('journal.not_recorded', 'The head of the log is damaged.');
  return { log, frontier, previous: log.head };
}

/** Writes what is remembered into the log's row, and forgets it: the next to need it reads the row. */
function* keepHead(build: Kysely<never>, memory: TransactionMemory<LogHead>): ProgramRun<void> {
  const head = memory.get();
  if (head === undefined) return;
  const { log, frontier, previous } = head;
  yield one(statementsFor(build).updateLog, [frontier.size, previous, encodeFrontier(frontier), log.number]);
  memory.set(undefined);
}

function* begin(
  build: Kysely<never>,
  create: NonNullable<JournalInput['create']>,
  memory: TransactionMemory<LogHead>,
): ProgramRun<void> {
  yield* keepHead(build, memory);
  yield* createLog(build, create, yield* currentLog(build));
}

function* currentLog(build: Kysely<never>): ProgramRun<LogRow | undefined> {
  const { rows } = yield { kind: 'statement', sql: statementsFor(build).selectLog, parameters: [] };
  return rows[0] as LogRow | undefined;
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
  for (const entry of entries) {
    const { size: seq } = frontier;
    const { time, actor, kind, version, data } = entry;
    const hash = entryHash({ origin: log.origin, seq, previous, time, actor, kind, version, data }, nodeSha256);
    frontier = addLeaf(frontier, hash, adding);
    previous = hash;
    appended.push({ seq, hash: hexOf(hash) });
    const places = [log.number, seq, time, actor, kind, version, data, hash] as const;
    yield one(statements.insertEntry, [...places, ...indexParameters(entry)]);
    for (const body of entry.bodies) yield insertBody(statements.insertBody, body, { log: log.number, seq });
  }
  for (const { level, index, hash } of completed) {
    if (level % KEPT_LEVEL === 0) yield one(statements.insertNode, [log.number, level, index, hash]);
  }
  return { next: { log, frontier, previous }, appended };
}

function indexParameters({ index }: PreparedEntry): readonly (string | null)[] {
  return [index.run_id, index.session_id, index.call_id, index.principal, index.tool, index.outcome];
}

function insertBody(sql: string, body: PreparedBody, at: { readonly log: number; readonly seq: number }) {
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
