import { type ProgramRun, rowsOf, type WriterProgram } from '@palyra/storage';
import type { Kysely } from 'kysely';
import { hexOf } from '../format/bytes.ts';
import type { Signer } from '../format/crypto.ts';
import { entryHash } from '../format/entry.ts';
import { addLeaf, type CompletedNode, HASH_BYTES } from '../format/merkle-tree.ts';
import { JournalError } from '../journal-error.ts';
import { readSigner } from '../keys/key-file.ts';
import { nodeSha256 } from '../node-crypto.ts';
import { applyEntry, hasAct } from './apply-entry.ts';
import { isCertified } from './certified-key.ts';
import { firstOf, idOf, MOST_ENTRIES, MOST_LOGS } from './entry-id.ts';
import type { JournalSchema, LogRow } from './journal-schema.ts';
import { KEPT_LEVEL } from './journal-schema.ts';
import { finishAttestation, type LateAttestation } from './late-attestation.ts';
import { currentLogRow, type HeadMemory, keepHead, type LogHead, readHead } from './log-head.ts';
import type { PreparedBody, PreparedEntry } from './prepared-entry.ts';
import { type JournalSettings, sealLogs, sealRows } from './seal-logs.ts';
import { one, type RowsStatement, type StatementValue, statementsFor } from './statements.ts';

export const JOURNAL_PROGRAM = 'journal';

export interface JournalInput {
  readonly entries: readonly PreparedEntry[];
  /** One more entry, behind them, that says where one of them stands. It is signed here. */
  readonly late?: LateAttestation;
  /** The log that they are for; entries that name its hashes would mean nothing in another. */
  readonly origin?: string;
  /** The largest size at which they still mean what they say. */
  readonly upTo?: number;
  /** The attestation key that signed what they bring, hexadecimal. */
  readonly signedBy?: string;
  /** Begins a log of this origin first. Only where there is none, or with `after`: where that one is as it was seen. */
  readonly create?: {
    readonly origin: string;
    readonly rootKey: string;
    readonly after?: { readonly origin: string; readonly size: number };
  };
}

/** One text for all entries, because it is copied to the caller's thread. */
export interface JournalOutput {
  /** The number of the first; the others follow. */
  readonly first: number;
  /** Hexadecimal, one after the other. */
  readonly hashes: string;
}

/**
 * Gives entries their place: the next numbers, the link to the entry before, and their leaves in the tree. It is the
 * only writer of the journal's tables, and one at a time, so the chain cannot fork.
 */
const journal: WriterProgram<JournalInput, JournalOutput, JournalSettings, LogHead> = {
  name: JOURNAL_PROGRAM,
  keepsMemory: true,
  *run(build, input, { memory, settings }): ProgramRun<JournalOutput> {
    const { entries, late, create, origin, signedBy, upTo = Infinity } = input;
    const all = late === undefined ? entries : [...entries, late.entry];
    if (create !== undefined) yield* begin(build, create, { memory, settings });
    const head = memory.get() ?? (yield* readHead(build));
    if (head === undefined) throw new JournalError('journal.no_log', 'There is no log to append to.');
    if (origin !== undefined && head.log.origin !== origin) {
      throw new JournalError('journal.no_log', 'A new log was begun meanwhile; palyrad must be started again.');
    }
    if (head.frontier.size > upTo) {
      throw new JournalError('journal.not_recorded', 'The log went on faster than could be foreseen.');
    }
    if (head.frontier.size + all.length > MOST_ENTRIES) {
      throw new JournalError('journal.not_recorded', 'The log has as many entries as one can have.', {
        fix: 'Begin a new log with `palyra journal recover`.',
      });
    }
    const signer = late === undefined ? undefined : readSigner(settings.attestationKeyFile);
    // Of what is signed here, the key that signs it.
    const attesting = signer === undefined ? signedBy : hexOf(signer.publicKey);
    if (attesting !== undefined) yield* requireAttestable(head, all, { signedBy: attesting, build });
    const { next, hashes } = yield* appendTo(head, linked(head, input, signer), build);
    memory.set(attesting === undefined ? next : { ...next, attesting });
    if (entries.some(hasAct)) {
      // What entries do to the journal's own tables needs the log's row as it is after them, and may change it.
      yield* keepHead(build, memory);
      for (const [at, entry] of entries.entries()) {
        yield* applyEntry(entry, { log: head.log, seq: head.frontier.size + at, build });
      }
    }
    return { first: head.frontier.size, hashes };
  },
  *seal(build, { settings, memory }) {
    return yield* sealLogs(build, { settings, memory });
  },
};

export default journal;

interface BeginContext {
  readonly memory: HeadMemory;
  readonly settings: JournalSettings;
}

function* begin(
  build: Kysely<never>,
  create: NonNullable<JournalInput['create']>,
  { memory, settings }: BeginContext,
): ProgramRun<void> {
  yield* keepHead(build, memory);
  // The log that ends here may have got entries in this very transaction.
  yield* sealRows(build, settings);
  yield* createLog(build, create, yield* currentLogRow(build));
}

/** SECURITY: T-31 — what a retired key signed, or what is said twice about a call, would spoil the log for good. */
function* requireAttestable(
  { log, attesting }: LogHead,
  entries: readonly PreparedEntry[],
  { signedBy, build }: { readonly signedBy: string; readonly build: Kysely<never> },
): ProgramRun<void> {
  const key = { log: log.number, role: 'attestation', publicKey: signedBy } as const;
  if (attesting !== signedBy && !(yield* isCertified(key, build))) {
    throw new JournalError('journal.key_not_certified', 'The attestation key does not count in this log any more.');
  }
  for (const { fields } of entries) {
    const [, , kind, , , , , callId] = fields;
    if (kind !== 'attestation') continue;
    const sql = statementsFor(build).selectAttestation;
    const { rows } = yield {
      kind: 'statement',
      sql,
      parameters: [callId, firstOf(log.number), firstOf(log.number + 1)],
    };
    if (rows.length === 0) continue;
    throw new JournalError('journal.attested_before', 'This call has an attestation in the log already.');
  }
}

function* createLog(
  build: Kysely<never>,
  { origin, rootKey, after }: NonNullable<JournalInput['create']>,
  current: LogRow | undefined,
): ProgramRun<void> {
  if (current?.origin !== after?.origin) {
    throw new JournalError('journal.log_exists', 'There is a log in this database already.');
  }
  // SECURITY: T-31 — the new log names this head; if the old one went on meanwhile, it would name another.
  if (current?.size !== after?.size) {
    throw new JournalError('journal.log_exists', 'The log that shall end was appended to meanwhile.', {
      fix: 'Stop palyrad first, and whatever else writes to this home.',
    });
  }
  const number = (current?.number ?? 0) + 1;
  if (number > MOST_LOGS) {
    throw new JournalError('journal.log_exists', `This database has ${MOST_LOGS} logs, and has no room for another.`, {
      fix: 'Keep this home as it is, and begin a new one.',
    });
  }
  const log: LogRow = {
    number,
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

interface Linked {
  readonly next: Pick<LogHead, 'frontier' | 'previous'>;
  readonly rows: readonly RowValues[];
  readonly bodies: readonly RowValues[];
  readonly completed: readonly CompletedNode[];
  /** One after the other. */
  readonly hashes: Buffer;
}

/** Each entry with its place, its link to the one before, and its leaf. */
function linked(head: LogHead, { entries, late }: JournalInput, signer: Signer | undefined): Linked {
  const { log } = head;
  let { frontier, previous } = head;
  const first = frontier.size;
  const hashes = Buffer.allocUnsafe(HASH_BYTES * (entries.length + (late === undefined ? 0 : 1)));
  const completed: CompletedNode[] = [];
  const adding = { sha256: nodeSha256, completed: (node: CompletedNode) => void completed.push(node) };
  const rows: RowValues[] = [];
  const bodies: RowValues[] = [];
  const link = ({ fields, bodies: of }: PreparedEntry) => {
    const { size: seq } = frontier;
    const [time, actor, kind, version, data, ...index] = fields;
    const hash = entryHash({ origin: log.origin, seq, previous, time, actor, kind, version, data }, nodeSha256);
    frontier = addLeaf(frontier, hash, adding);
    previous = hash;
    hashes.set(hash, HASH_BYTES * rows.length);
    rows.push([idOf(log.number, seq), time, actor, kind, version, data, hash, ...index]);
    for (const body of of) bodies.push(bodyRow(body, { log: log.number, seq }));
  };
  for (const entry of entries) link(entry);
  if (late !== undefined && signer !== undefined) {
    const at = HASH_BYTES * late.anchorAt;
    const hash = hashes.toString('hex', at, at + HASH_BYTES);
    link(finishAttestation(late, { seq: first + late.anchorAt, hash }, signer));
  }
  return { next: { frontier, previous }, rows, bodies, completed, hashes };
}

function* appendTo(
  head: LogHead,
  { next, rows, bodies, completed, hashes }: Linked,
  build: Kysely<never>,
): ProgramRun<{ readonly next: LogHead; readonly hashes: string }> {
  const statements = statementsFor(build);
  yield* insertAll(rows, statements.insertEntries);
  yield* insertAll(bodies, statements.insertBodies);
  for (const { level, index, hash } of completed) {
    if (level % KEPT_LEVEL === 0) yield one(statements.insertNode, [head.log.number, level, index, hash]);
  }
  return { next: { ...head, ...next }, hashes: hashes.toString('hex') };
}

/** Many rows to a statement: calling the database costs as much as putting in a row. */
function* insertAll(rows: readonly RowValues[], statement: RowsStatement): ProgramRun<void> {
  let at = 0;
  for (const { count, sql } of statement) {
    for (; rows.length - at >= count; at += count) {
      const parameters: StatementValue[] = [];
      for (let next = at; next < at + count; next += 1) parameters.push(...(rows[next] as RowValues));
      yield { kind: 'statement', sql, parameters, rows: count };
    }
  }
}

type RowValues = readonly StatementValue[];

function bodyRow(body: PreparedBody, at: { readonly log: number; readonly seq: number }): RowValues {
  const isFile = body.content === 'file';
  return [
    body.commitment,
    at.log,
    at.seq,
    body.salt,
    body.content === 'file' ? null : body.content,
    isFile ? 'file' : 'row',
    body.bytes,
    body.totalBytes,
    null,
    null,
  ];
}
