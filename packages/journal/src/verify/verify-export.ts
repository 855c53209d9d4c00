import { canonicalJson, type JsonValue } from '@palyra/primitives/browser';
import type { VerifyCrypto } from '../format/crypto.ts';
import { isSignedByRoot } from '../format/key-statement.ts';
import { JournalError } from '../journal-error.ts';
import type { RangeHeader, SelectionHeader } from './export-format.ts';
import { createExportSource, type ExportReader, type ExportText, openExport } from './read-export.ts';
import type { Finding, LogReport, VerifiedState, VerifyPins } from './report.ts';
import { RETIREMENT_UNKNOWN } from './signed-head.ts';
import { verifyLog } from './verify-log.ts';
import { type SelectionFacts, verifySelection } from './verify-selection.ts';
import { bytesOf } from './written-log.ts';

export type ExportReport =
  /** Every entry of the log from a place on. Its state is where the next file of the same log begins. */
  | (Extract<LogReport, { readonly kind: 'sound' }> & { readonly of: 'range'; readonly first: number })
  /** Entries that are in the log; that others match the filter too cannot be ruled out. */
  | ({
      readonly kind: 'sound';
      readonly of: 'selection';
      readonly origin: string;
      readonly rootKey: string;
      readonly filter: Readonly<Record<string, string>>;
    } & SelectionFacts)
  | { readonly kind: 'broken'; readonly origin: string; readonly finding: Finding };

export interface VerifyExportOptions {
  readonly crypto: VerifyCrypto;
  readonly pins: VerifyPins;
  /** Where an earlier verification ended, such as that of the file before this one: this one must go on there. */
  readonly start?: VerifiedState;
  /** Told now and then how many entries of a range were looked at. */
  readonly progress?: (entries: number) => void;
}

/** Throws `journal.invalid_export` when the file does not begin as exports do; whatever is wrong in it is `broken`. */
export async function verifyExport(text: ExportText, options: VerifyExportOptions): Promise<ExportReport> {
  const reader = await openExport(text, options.crypto.sha256);
  try {
    const { header } = reader;
    return header.kind === 'range'
      ? await verifyRange(reader, header, options)
      : await verifySelected(reader, header, options);
  } catch (thrown) {
    const finding = reader.fault();
    if (finding === undefined || !(thrown instanceof JournalError)) throw thrown;
    return { kind: 'broken', origin: reader.header.origin, finding };
  }
}

async function verifyRange(
  reader: ExportReader,
  header: RangeHeader,
  options: VerifyExportOptions,
): Promise<ExportReport> {
  const { origin } = header;
  const finding =
    needlessKeys(header) ?? differsFromStart(header, options.start) ?? (await uncertifiedKey(reader, header, options));
  if (finding !== undefined) return { kind: 'broken', origin, finding };
  const { size } = header.base;
  const { keys } = header;
  // A file that begins within a log need not say why: it is a part of it, and names what it goes on from.
  const begins: VerifiedState = { format: 'palyra.verified/1', origin, rootKey: reader.rootKey, ...header.base, keys };
  const start = options.start ?? (size === 0 ? undefined : begins);
  const report = await verifyLog(createExportSource(reader, header), {
    ...options,
    ...(start === undefined ? {} : { start }),
  });
  if (report.kind === 'broken') return report;
  // Without the file before it, the keys that it begins with are those that its maker chose to write.
  const remarks = size > 0 && options.start === undefined ? [RETIREMENT_UNKNOWN] : [];
  const first = Math.max(size, options.start?.size ?? size);
  if (first > size) remarks.push(`Entries before ${first} were verified before, and were not looked at again.`);
  return { ...report, of: 'range', first, remarks: [...report.remarks, ...remarks] };
}

/** Before the first entry nothing can have been said about keys. */
function needlessKeys({ base, keys }: RangeHeader): Finding | undefined {
  if (base.size > 0 || keys.length === 0) return undefined;
  return { code: 'not_a_log', why: 'The file begins with the first entry, and brings keys from before it.' };
}

/** Whether the file goes on where the one before it ended, knowing the same keys. It may also begin before that. */
function differsFromStart({ origin, base, keys }: RangeHeader, start: VerifiedState | undefined): Finding | undefined {
  if (start === undefined) return undefined;
  if (origin !== start.origin)
    return forked(`The file is of the log ${origin}, and the one before of ${start.origin}.`);
  if (base.size > start.size) {
    const why = `The file begins with entry ${base.size}, and the one before it ended with entry ${start.size - 1}.`;
    return { code: 'entry_missing', seq: start.size, why };
  }
  if (base.size < start.size) return undefined;
  const { size, previous, frontier } = start;
  // SECURITY: T-31 — the same keys too, or a file could leave out that one of them was retired.
  const isSame = sameJson({ ...base }, { size, previous, frontier }) && sameJson(keys, start.keys);
  return isSame ? undefined : forked(`The file does not go on where the one before it ended, at size ${size}.`);
}

function forked(why: string): Finding {
  return { code: 'forked', why };
}

function sameJson(left: unknown, right: unknown): boolean {
  return canonicalJson(left as JsonValue) === canonicalJson(right as JsonValue);
}

async function uncertifiedKey(
  reader: ExportReader,
  { origin, keys }: RangeHeader,
  { crypto }: VerifyExportOptions,
): Promise<Finding | undefined> {
  for (const statement of keys) {
    if (statement.origin === origin && (await isSignedByRoot(statement, bytesOf(reader.rootKey), crypto))) continue;
    const why = `The statement about the key ${statement.public_key} is not the root key's.`;
    return { code: 'key_uncertified', why };
  }
  return undefined;
}

async function verifySelected(
  reader: ExportReader,
  header: SelectionHeader,
  options: VerifyExportOptions,
): Promise<ExportReport> {
  const { origin, filter } = header;
  const checked = await verifySelection(reader, header, options);
  if (checked.kind === 'fails') return { kind: 'broken', origin, finding: checked.finding };
  const { rootKey } = reader;
  const { remarks, ...facts } = checked.value;
  return {
    kind: 'sound',
    of: 'selection',
    origin,
    rootKey,
    filter,
    ...facts,
    remarks: [
      'The entries are in the log; that no other entry matches the filter is not proven.',
      RETIREMENT_UNKNOWN,
      ...remarks,
    ],
  };
}
