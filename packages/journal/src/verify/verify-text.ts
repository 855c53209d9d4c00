import { parseCanonical } from '../format/parse-canonical.ts';
import { JournalError } from '../journal-error.ts';
import { MAX_BUNDLE } from './bundle-format.ts';
import { MAX_LINE } from './export-format.ts';
import { readLines, type TextChunks } from './read-lines.ts';
import { type BundleReport, type VerifyBundleOptions, verifyBundle } from './verify-bundle.ts';
import { type ExportReport, verifyExport } from './verify-export.ts';

export type TextReport =
  | { readonly of: 'bundle'; readonly report: BundleReport }
  | { readonly of: 'export'; readonly report: ExportReport };

/** A file as text: whole, or opened anew each time it is asked for, so that long ones need not be held in memory. */
export type VerifiableText = string | (() => TextChunks);

/**
 * Tells a bundle from an export by its first line, and verifies it. Throws `journal.invalid_export` for what is neither;
 * one that lies is `broken`.
 */
export async function verifyText(
  text: VerifiableText,
  options: Pick<VerifyBundleOptions, 'crypto' | 'pins'>,
): Promise<TextReport> {
  if (await isExport(text)) return { of: 'export', report: await verifyExport(text, options) };
  return { of: 'bundle', report: await verifyBundle(await wholeOf(text), options) };
}

async function isExport(text: VerifiableText): Promise<boolean> {
  for await (const line of readLines(typeof text === 'string' ? text : text(), MAX_LINE)) {
    const value = parseCanonical(line.text);
    return typeof value === 'object' && value !== null && Object.hasOwn(value, 'type');
  }
  return false;
}

async function wholeOf(text: VerifiableText): Promise<string> {
  if (typeof text === 'string') return text;
  const pieces: string[] = [];
  let length = 0;
  const chunks = text();
  for await (const piece of typeof chunks === 'string' ? [chunks] : chunks) {
    length += piece.length;
    if (length > MAX_BUNDLE) throw new JournalError('journal.invalid_export', 'The file is too long for a bundle.');
    pieces.push(piece);
  }
  return pieces.join('');
}
