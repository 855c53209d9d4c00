import { JournalError } from '../journal-error.ts';

/** Text as it comes from a file, a socket or a field of a page: whole, or in pieces cut anywhere. */
export type TextChunks = string | Iterable<string> | AsyncIterable<string>;

export interface TextLine {
  readonly text: string;
  /** Counted from 1. */
  readonly number: number;
  /** False for what stands behind the last newline. */
  readonly ended: boolean;
}

/** Throws `journal.invalid_export` for a longer line; no more than one line and one piece are held. */
export async function* readLines(chunks: TextChunks, maxLength: number): AsyncGenerator<TextLine> {
  let parts: string[] = [];
  let length = 0;
  let number = 1;
  for await (const chunk of typeof chunks === 'string' ? [chunks] : chunks) {
    let start = 0;
    for (let end = chunk.indexOf('\n'); ; end = chunk.indexOf('\n', start)) {
      const part = chunk.slice(start, end === -1 ? undefined : end);
      length += part.length;
      // SECURITY: T-39 — a file from a stranger must not decide how much memory its verifier needs.
      if (length > maxLength) throw tooLong(number);
      if (part !== '') parts.push(part);
      if (end === -1) break;
      yield { text: parts.join(''), number, ended: true };
      parts = [];
      length = 0;
      number += 1;
      start = end + 1;
    }
  }
  if (length > 0) yield { text: parts.join(''), number, ended: false };
}

function tooLong(line: number): JournalError {
  return new JournalError('journal.invalid_export', `Line ${line} of the file is too long.`);
}
