import type { ReadOnlyDatabase, ReadQueries } from '@palyra/storage';
import { keptEdited, ofNoLog } from './check-kept.ts';
import { manySignatures } from './check-signatures.ts';
import { tablesEdited } from './check-tables.ts';
import { bytesOfHex, equalBytes } from './format/bytes.ts';
import { parseCheckpoint } from './format/checkpoint.ts';
import { JournalError } from './journal-error.ts';
import { nodeSha256 } from './node-crypto.ts';
import { createDatabaseSource, listLogs } from './read-log.ts';
import type { JournalSchema, LogRow } from './store/journal-schema.ts';
import { keysDigest } from './verify/keys-digest.ts';
import type { LogSource } from './verify/log-source.ts';
import type { Established, Finding, LogHead, LogReport, VerifiedState, VerifyPins } from './verify/report.ts';
import { verifyLog } from './verify/verify-log.ts';
import { keysBefore } from './written-parts.ts';

export interface HomeVerification {
  readonly database: Pick<ReadOnlyDatabase<JournalSchema>, 'read' | 'dialect'>;
  /** Absent: all bodies are in the database. */
  readonly bodyDirectory: string | undefined;
  /**
   * The root key is that of the log in use. Logs before it may have had another; what ties them to it is the head that
   * each log names of the one before.
   */
  readonly pins: VerifyPins;
  /** For the log that it is about; the others are verified from their beginning. */
  readonly start?: VerifiedState;
  /** Told how many entries were looked at, in all logs. */
  readonly progress?: (entries: number) => void;
}

export type SoundLog = Extract<LogReport, { kind: 'sound' }>;

export type HomeReport =
  | {
      readonly kind: 'sound';
      /** Oldest first; the last is the one in use. */
      readonly logs: readonly SoundLog[];
      /** What was established about the log in use. */
      readonly established: Established;
    }
  | {
      readonly kind: 'broken';
      /** Those before the broken one. */
      readonly logs: readonly SoundLog[];
      /** The broken one. */
      readonly origin: string;
      readonly finding: Finding;
    };

/**
 * Every log of a home, oldest first, and the tables they lie in. Throws `journal.no_log`, `storage.newer_schema`, and when
 * something could not be looked at.
 */
export async function verifyHome(home: HomeVerification): Promise<HomeReport> {
  const rows = await listLogs(home.database.read);
  const last = rows.at(-1);
  if (last === undefined) throw new JournalError('journal.no_log', 'There is no log in this database.');
  const lost = lostLog(rows, home);
  if (lost !== undefined) return { kind: 'broken', logs: [], origin: last.origin, finding: lost };

  const nobodyAsks = new AbortController();
  // Beside the walk: whoever reads the database has time while what was read is looked at.
  const tables = tablesEdited({ ...home, logs: rows, signal: nobodyAsks.signal });
  // Thrown when its turn comes; until then it is nobody's.
  tables.catch(() => undefined);
  try {
    const report = await verifyLogs(rows, last, home);
    if (report.kind === 'broken') return report;
    const stray = await ofNoLog(home.database.read, rows);
    if (stray !== undefined) return { kind: 'broken', logs: report.logs, origin: last.origin, finding: stray };
    const edited = await tables;
    return edited === undefined ? report : { kind: 'broken', logs: report.logs, ...edited };
  } finally {
    nobodyAsks.abort();
    // Whoever stops early may close the database next.
    await tables.catch(() => undefined);
  }
}

async function verifyLogs(rows: readonly LogRow[], last: LogRow, home: HomeVerification): Promise<HomeReport> {
  const logs: SoundLog[] = [];
  for (const row of rows) {
    const report = await verifyOne(row, { home, last, before: entriesIn(logs) });
    if (report.kind === 'broken') return { ...report, logs };
    const finding = unlinked(report, logs.at(-1));
    if (finding !== undefined) return { kind: 'broken', logs, origin: row.origin, finding };
    logs.push(remarked(report, logs.at(-1)));
  }
  return {
    kind: 'sound',
    logs,
    established: logs.at(-1)?.established ?? { level: 'self_consistent' },
  };
}

interface Verifying {
  readonly home: HomeVerification;
  /** The log in use. */
  readonly last: LogRow;
  /** How many entries were looked at in the logs before. */
  readonly before: number;
}

const ATTEMPTS = 3;

/** What a writer prunes meanwhile is missing, and nothing is wrong: then it is verified again from where it now begins. */
async function verifyOne(row: LogRow, verifying: Verifying): Promise<LogReport> {
  const { database, bodyDirectory } = verifying.home;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const places = { directory: bodyDirectory, newest: verifying.last.number };
    const source = await createDatabaseSource(database.read, row, places);
    const report = await verifySource(source, row, verifying);
    if (report.kind === 'sound') return (await besideEdited(row, report, database.read)) ?? report;
    if (!(await source.wasPruned())) return report;
  }
  throw new JournalError('journal.pruned_meanwhile', 'The log was pruned each time while it was read.', {
    fix: 'Run it again when nothing is being pruned.',
  });
}

async function besideEdited(
  row: LogRow,
  report: SoundLog,
  read: ReadQueries<JournalSchema>,
): Promise<LogReport | undefined> {
  const finding = (await keysEdited(row, report, read)) ?? (await keptEdited(read, row.number));
  return finding === undefined ? undefined : { kind: 'broken', origin: report.origin, finding };
}

/** SECURITY: T-53 — when the entries are pruned this table is all that tells of a retired key, so it must hold them all. */
async function keysEdited(
  row: LogRow,
  { size, state }: SoundLog,
  read: ReadQueries<JournalSchema>,
): Promise<Finding | undefined> {
  const kept = await keysBefore(read, row, size);
  if (keysDigest(kept, nodeSha256) === keysDigest(state.keys, nodeSha256)) return undefined;
  const why = 'The keys that are kept beside the log are not those that its entries say it had.';
  return { code: 'index_edited', why };
}

async function verifySource(source: LogSource, row: LogRow, { home, last, before }: Verifying): Promise<LogReport> {
  const { pins, start, progress } = home;
  return verifyLog(source, {
    crypto: manySignatures(),
    pins: row === last || hasKey(row, pins.rootKey) ? pins : withoutRoot(pins),
    ...(start?.origin === row.origin ? { start } : {}),
    ...(progress === undefined ? {} : { progress: (entries: number) => progress(before + entries) }),
  });
}

function hasKey({ root_key }: LogRow, rootKey: Uint8Array | undefined): boolean {
  return rootKey !== undefined && equalBytes(rootKey, bytesOfHex(root_key) ?? new Uint8Array());
}

function withoutRoot({ witnesses, checkpoints }: VerifyPins): VerifyPins {
  return { witnesses, checkpoints };
}

function entriesIn(logs: readonly SoundLog[]): number {
  return logs.reduce((sum, { counts }) => sum + counts.entries, 0);
}

/** SECURITY: T-53 — a new log in the place of the old one is sound by itself; what was known of the old one is not there. */
function lostLog(rows: readonly LogRow[], { start, pins }: HomeVerification): Finding | undefined {
  const isHere = (known: string) => rows.some(({ origin }) => origin === known);
  if (start !== undefined && !isHere(start.origin)) {
    return { code: 'forked', why: `The log ${start.origin}, which was verified before, is not in this home.` };
  }
  const lost = pins.checkpoints.map((note) => parseCheckpoint(note).checkpoint.origin).find((known) => !isHere(known));
  if (lost === undefined) return undefined;
  return { code: 'forked', why: `The log ${lost}, of which a checkpoint is known, is not in this home.` };
}

function remarked(log: SoundLog, before: SoundLog | undefined): SoundLog {
  if (before === undefined || log.follows !== undefined) return log;
  const remark = `Whether ${log.origin} follows ${before.origin} was not seen: its first entry is not here.`;
  return { ...log, remarks: [...log.remarks, remark] };
}

/** A recovered log names the head of the one before it, and only the first log names none. */
function unlinked(log: SoundLog, before: SoundLog | undefined): Finding | undefined {
  const wasRead = log.counts.entries === log.size;
  if (!wasRead && log.follows === undefined) return undefined;
  if (isSameHead(log.follows, before)) return undefined;
  const named = log.follows === undefined ? 'none' : `${log.follows.origin} of ${log.follows.size} entries`;
  const found = before === undefined ? 'none' : `${before.origin} of ${before.size} entries`;
  return {
    code: 'origin_unlinked',
    seq: 0,
    why: `The log names ${named} as the one before it, and there is ${found}, or one with another root.`,
  };
}

function isSameHead(named: LogHead | undefined, before: SoundLog | undefined): boolean {
  if (named === undefined || before === undefined) return named === before;
  return named.origin === before.origin && named.size === before.size && named.root === before.root;
}
