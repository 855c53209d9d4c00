import { concat, hexOf, utf8 } from '../format/bytes.ts';
import { fieldsOfType } from '../format/check-data.ts';
import type { Sha256 } from '../format/crypto.ts';
import { isEntryKind } from '../format/entry-data.ts';
import { decodeFrontier } from '../format/merkle-tree.ts';
import { parseCanonical } from '../format/parse-canonical.ts';
import { parseVkey } from '../format/signed-note.ts';
import { JournalError } from '../journal-error.ts';
import {
  type CheckpointLine,
  type EndLine,
  type EntryLine,
  type ExportHeader,
  type ExportLine,
  MAX_LINE,
  type ProvenEntryLine,
  parseExportLine,
  type RangeHeader,
  type SnapshotLine,
} from './export-format.ts';
import { createKeptBodies, createKeptSnapshots, type KeptBodies, type KeptSnapshots } from './kept-content.ts';
import type { LogRecord, LogSource } from './log-source.ts';
import { readLines, type TextChunks } from './read-lines.ts';
import type { Finding } from './report.ts';
import { parse } from './signed-head.ts';
import { bytesOf } from './written-log.ts';

export type ContentLine = EntryLine | ProvenEntryLine | CheckpointLine | SnapshotLine;

export interface ExportReader {
  readonly header: ExportHeader;
  /** Hexadecimal. */
  readonly rootKey: string;
  /** All lines between the first and the last. Throws after setting `fault`: what came before counts for nothing then. */
  lines(): AsyncGenerator<ContentLine>;
  /** What is wrong with the file itself, once that was found. */
  fault(): Finding | undefined;
  /** The same file from its beginning once more. Throws `journal.invalid_export` when it came as a stream. */
  again(): Promise<ExportReader>;
}

/** A function opens the file anew each time: verifying some long logs needs a second look. */
export type ExportText = TextChunks | (() => TextChunks);

/** Throws `journal.invalid_export` when the first line is not that of an export. */
export async function openExport(text: ExportText, sha256: Sha256): Promise<ExportReader> {
  const lines = readLines(typeof text === 'function' ? text() : text, MAX_LINE);
  const first = await lines.next();
  const header = first.done === true ? undefined : parseExportLine(first.value.text);
  if (header?.type !== 'header') throw invalid('The first line of the file is not that of an export.');
  let fault: Finding | undefined;
  const fail: Fail = (finding) => {
    fault = finding;
    throw invalid(finding.why);
  };
  return {
    header,
    rootKey: hexOf(rootKeyOf(header.root_key, sha256)),
    fault: () => fault,
    async again() {
      if (typeof text !== 'object' || Symbol.iterator in text) return openExport(text, sha256);
      throw invalid('This export is too long to be verified in one go.');
    },
    async *lines() {
      let entries = 0;
      let end: EndLine | undefined;
      let stray: Finding | undefined;
      for await (const { text: written, number, ended } of remaining(lines, fail)) {
        // SECURITY: T-31 — what is cut off anywhere, within a line too, must not pass for a shorter log.
        if (!ended) fail(cutOff('The file ends within a line'));
        if (end !== undefined) fail(malformed(`Line ${number} stands behind the end`));
        const line = parseOr(written, number, fail);
        if (line.type === 'header') return fail(malformed(`Line ${number} is a second header`));
        if (line.type === 'entry') {
          entries += 1;
          stray ??= strayBody(line, header);
        }
        // SECURITY: T-31 — each is looked at, also one that no entry names: nobody shall read it for what it is not.
        if (line.type === 'snapshot' && hexOf(sha256(utf8(line.text))) !== line.digest)
          fail(forgedSnapshot(line.digest));
        if (line.type === 'end') end = line;
        else yield line;
      }
      if (end === undefined) return fail(cutOff('The file ends without its last line'));
      if (end.entries !== entries) fail(cutOff(`The file says it has ${end.entries} entries, and has ${entries}`));
      if (end.size !== endOf(header) || (header.kind === 'range' && end.size !== header.base.size + entries)) {
        fail(malformed('The last line says another size than the entries have'));
      }
      // Last, because an entry that was edited names other bodies too, and that is found where it is verified.
      if (stray !== undefined) fail(stray);
    },
  };
}

function forgedSnapshot(digest: string): Finding {
  return { code: 'snapshot_wrong', why: `The policy snapshot ${digest} is not the one with its digest.` };
}

function endOf(header: ExportHeader): number | undefined {
  return header.kind === 'range' ? header.end : parse(header.checkpoint)?.checkpoint.size;
}

type Fail = (finding: Finding) => never;

/** Reading may end in a line that is too long, which is a finding like any other. */
async function* remaining<Line>(lines: AsyncGenerator<Line>, fail: Fail): AsyncGenerator<Line> {
  try {
    yield* lines;
  } catch (thrown) {
    if (!(thrown instanceof JournalError)) throw thrown;
    fail(malformed(thrown.message.replace(/\.$/, '')));
  }
}

function parseOr(text: string, number: number, fail: Fail): ExportLine {
  try {
    return parseExportLine(text);
  } catch (thrown) {
    if (!(thrown instanceof JournalError)) throw thrown;
    return fail(malformed(`Line ${number}: ${thrown.message.replace(/\.$/, '')}`));
  }
}

/** SECURITY: T-31 — a body that no entry commits to was checked by nobody, and must not come along as if it had been. */
function strayBody(line: EntryLine | ProvenEntryLine, header: ExportHeader): Finding | undefined {
  if (line.bodies === undefined) return undefined;
  const named = header.bodies ? commitmentsIn(line) : [];
  let before = -1;
  for (const { commitment } of line.bodies) {
    const at = named.indexOf(commitment);
    if (at > before) before = at;
    else {
      const why = `Entry ${line.seq} comes with a body that it does not name, or names elsewhere.`;
      return { code: 'body_swapped', seq: line.seq, why };
    }
  }
  return undefined;
}

function commitmentsIn({ kind, data }: EntryLine | ProvenEntryLine): readonly unknown[] {
  const values = parseCanonical(data);
  if (!isEntryKind(kind) || typeof values !== 'object' || values === null) return [];
  return fieldsOfType(kind, 'body').map((field) => (values as Readonly<Record<string, unknown>>)[field]);
}

const PAGE_RECORDS = 512;
const PAGE_LENGTH = 4 * 1024 * 1024;

/**
 * The log in a range. Throws `journal.invalid_export` for a base that no log can have.
 */
export function createExportSource(reader: ExportReader, header: RangeHeader): LogSource {
  const frontier = decodeFrontier(header.base.size, concat(...header.base.frontier.map(bytesOf)));
  if (frontier === undefined) throw invalid('The file begins at a place that no log can have.');
  const bodies = createKeptBodies(header.end);
  const snapshots = createKeptSnapshots();
  let isRead = false;
  return {
    origin: header.origin,
    rootKey: reader.rootKey,
    base: { frontier, previous: bytesOf(header.base.previous) },
    earlierKeys: header.keys,
    records(from) {
      if (isRead) return recordsAgain(reader, from);
      isRead = true;
      return recordsOf(reader, from, { bodies, snapshots });
    },
    // Looked up at once, while the page is kept.
    body: async (commitment) => (header.bodies ? bodies.find(commitment) : { kind: 'left out' }),
    snapshot: async (digest) => snapshots.find(digest),
  };
}

interface Kept {
  readonly bodies: KeptBodies;
  readonly snapshots: KeptSnapshots;
}

async function* recordsOf(
  reader: ExportReader,
  from: number,
  { bodies, snapshots }: Kept,
): AsyncGenerator<readonly LogRecord[]> {
  let page: LogRecord[] = [];
  let length = 0;
  try {
    for await (const line of reader.lines()) {
      if (line.type === 'snapshot') {
        snapshots.keep(line);
        continue;
      }
      if (isFrom(line, from)) page.push(recordOf(line));
      length += line.type === 'entry' ? bodies.keep(line) + line.data.length : line.note.length;
      if (page.length < PAGE_RECORDS && length < PAGE_LENGTH) continue;
      yield page;
      page = [];
      length = 0;
      bodies.turnPage();
    }
  } catch (thrown) {
    // What is wrong with entries before the fault in the file is the first thing that is wrong.
    yield page;
    throw thrown;
  }
  yield page;
}

/** The second time only records are looked for, one at a time. */
async function* recordsAgain(first: ExportReader, from: number): AsyncGenerator<readonly LogRecord[]> {
  const reader = await first.again();
  for await (const line of reader.lines()) {
    if (line.type !== 'snapshot' && isFrom(line, from)) yield [recordOf(line)];
  }
}

function recordOf(line: EntryLine | ProvenEntryLine | CheckpointLine): LogRecord {
  if (line.type === 'checkpoint') return { kind: 'checkpoint', size: line.size, note: line.note };
  const { seq, time, actor, kind, version, data, hash } = line;
  return { kind: 'entry', entry: { seq, time, actor, kind, version, data }, hash: bytesOf(hash) };
}

/** Of a source that is asked from further on, only the checkpoint at that place and what is behind it. */
function isFrom(line: EntryLine | ProvenEntryLine | CheckpointLine, from: number): boolean {
  return line.type === 'entry' ? line.seq >= from : line.size >= from;
}

function rootKeyOf(text: string, sha256: Sha256): Uint8Array {
  try {
    return parseVkey(text, sha256).publicKey;
  } catch (cause) {
    throw invalid('The root key in the first line is not a verifier key.', cause);
  }
}

function cutOff(what: string): Finding {
  return { code: 'truncated', why: `${what}: it was cut off, or is not complete yet.` };
}

function malformed(what: string): Finding {
  return { code: 'not_a_log', why: `${what}.` };
}

function invalid(message: string, cause?: unknown): JournalError {
  return new JournalError('journal.invalid_export', message, {
    fix: 'Give a file that `palyra journal export` wrote.',
    ...(cause === undefined ? {} : { cause }),
  });
}
