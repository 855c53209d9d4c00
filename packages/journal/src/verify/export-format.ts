import { canonicalJson, type JsonValue } from '@palyra/primitives/browser';
import {
  boolean,
  type Check,
  checkShape,
  choice,
  count,
  digest,
  type Fault,
  list,
  object,
  optional,
  origin,
  record,
  text,
} from '../format/check-shape.ts';
import type { SignedKeyStatement } from '../format/key-statement.ts';
import { parseCanonical } from '../format/parse-canonical.ts';
import { JournalError } from '../journal-error.ts';
import {
  base64,
  entryFields,
  keyStatements,
  note,
  type ProvenEntry,
  provenFields,
  snapshotText,
  vkey,
  type WrittenEntry,
} from './written-log.ts';

/**
 * A journal as lines of JSON, each in its one spelling (RFC 8785). The first says what follows; the last says that
 * nothing is missing behind it.
 */
export const EXPORT_FORMAT = 'palyra.export/1';

export type ExportLine = ExportHeader | EntryLine | ProvenEntryLine | CheckpointLine | SnapshotLine | EndLine;

export type ExportHeader = RangeHeader | SelectionHeader;

interface AnyHeader {
  readonly type: 'header';
  readonly format: typeof EXPORT_FORMAT;
  readonly origin: string;
  /** A verifier key. */
  readonly root_key: string;
  /** Whether bodies come with their entries. */
  readonly bodies: boolean;
  /** In a range: those from before it. In a selection: all up to the checkpoint. */
  readonly keys: readonly SignedKeyStatement[];
}

/** Every entry from a place on, with the checkpoints that were signed over them. */
export interface RangeHeader extends AnyHeader {
  readonly kind: 'range';
  readonly base: WrittenBase;
  /** The size of the log behind the last entry of the file. */
  readonly end: number;
}

export interface WrittenBase {
  readonly size: number;
  readonly previous: string;
  readonly frontier: readonly string[];
}

/** Some entries, each with a proof that it is under the one checkpoint. */
export interface SelectionHeader extends AnyHeader {
  readonly kind: 'selection';
  readonly filter: Readonly<Record<string, string>>;
  readonly checkpoint: string;
  /** An earlier checkpoint that others cosigned, and the proof that the other one continues it. */
  readonly witnessed?: { readonly checkpoint: string; readonly proof: readonly string[] };
}

export interface EntryLine extends WrittenEntry {
  readonly type: 'entry';
  /** Absent when the entry has none, or they were left out. */
  readonly bodies?: readonly BodyItem[];
}

/** In a selection. */
export interface ProvenEntryLine extends ProvenEntry {
  readonly type: 'entry';
  readonly bodies?: readonly BodyItem[];
}

export type BodyItem =
  | { readonly commitment: string; readonly salt: string; readonly body: string }
  /**
   * By the entry of this number, which may be behind the end of the file. `erased_in`: the origin of the log that has the
   * entry, when it is a later one than this.
   */
  | { readonly commitment: string; readonly erased_by: number; readonly erased_in?: string };

/** After the entry with which it was signed. */
export interface CheckpointLine {
  readonly type: 'checkpoint';
  readonly size: number;
  readonly note: string;
}

/** Before the first entry that refers to it, and again when `SNAPSHOTS_KEPT` others came in between. */
export interface SnapshotLine {
  readonly type: 'snapshot';
  readonly digest: string;
  readonly text: string;
}

/** So many snapshots are remembered, the first that came being the first forgotten: readers need no more memory. */
export const SNAPSHOTS_KEPT = 64;

export interface EndLine {
  readonly type: 'end';
  /** Of the log, after the last entry of a range; of the checkpoint of a selection. */
  readonly size: number;
  readonly entries: number;
}

/** The longest line, in UTF-16 code units: several of the largest bodies in base64. */
export const MAX_LINE: number = 48 * 1024 * 1024;

const keptBody = object<Extract<BodyItem, { readonly body: string }>>({
  commitment: digest,
  salt: digest,
  body: base64,
});
const erasedBody = object<Extract<BodyItem, { readonly erased_by: number }>>({
  commitment: digest,
  erased_by: count,
  erased_in: optional(origin),
});

const bodyItem: Check<BodyItem> = (value, fault): value is BodyItem =>
  hasOwn(value, 'erased_by') ? erasedBody(value, fault) : keptBody(value, fault);

const headerFields = {
  type: choice('header'),
  format: choice(EXPORT_FORMAT),
  origin,
  root_key: vkey,
  bodies: boolean,
  keys: keyStatements,
} as const;

const rangeHeader = object<RangeHeader>({
  ...headerFields,
  kind: choice('range'),
  base: object<WrittenBase>({ size: count, previous: digest, frontier: list(digest) }),
  end: count,
});

const selectionHeader = object<SelectionHeader>({
  ...headerFields,
  kind: choice('selection'),
  filter: record(text),
  checkpoint: note,
  witnessed: optional(object<NonNullable<SelectionHeader['witnessed']>>({ checkpoint: note, proof: list(digest) })),
});

const entryLine = object<EntryLine>({ type: choice('entry'), ...entryFields, bodies: optional(list(bodyItem)) });

const provenEntryLine = object<ProvenEntryLine>({
  type: choice('entry'),
  ...provenFields,
  bodies: optional(list(bodyItem)),
});

const LINES: Readonly<Record<string, Check<ExportLine>>> = {
  header: (value, fault): value is ExportHeader =>
    hasOwn(value, 'base') ? rangeHeader(value, fault) : selectionHeader(value, fault),
  entry: (value, fault): value is EntryLine | ProvenEntryLine =>
    hasOwn(value, 'proof') ? provenEntryLine(value, fault) : entryLine(value, fault),
  checkpoint: object<CheckpointLine>({ type: choice('checkpoint'), size: count, note }),
  snapshot: object<SnapshotLine>({ type: choice('snapshot'), digest, text: snapshotText }),
  end: object<EndLine>({ type: choice('end'), size: count, entries: count }),
};

const anyLine: Check<ExportLine> = (value, fault: Fault): value is ExportLine => {
  const type = hasOwn(value, 'type') ? (value as { readonly type: unknown }).type : undefined;
  const check = typeof type === 'string' && Object.hasOwn(LINES, type) ? LINES[type] : undefined;
  if (check !== undefined) return check(value, fault);
  fault.reason = 'is not a kind of line that exports have';
  return false;
};

/** Throws `journal.invalid_export`, and repeats nothing of the line. */
export function parseExportLine(line: string): ExportLine {
  // SECURITY: T-31 — one spelling, or two readers could see two different exports in the same file.
  const value = parseCanonical(line);
  if (value === undefined) throw invalid('is not canonical JSON.');
  return checkShape(value, anyLine, (what) => invalid(`is malformed. ${what}`));
}

/** The line with its newline. */
export function writeExportLine(line: ExportLine): string {
  return `${canonicalJson(line as unknown as JsonValue)}\n`;
}

function hasOwn(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
}

function invalid(what: string): JournalError {
  return new JournalError('journal.invalid_export', `A line of an export ${what}`, {
    fix: 'docs/reference/journal.md describes the lines of an export.',
  });
}
