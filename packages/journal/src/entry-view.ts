import { hexOf } from './format/bytes.ts';
import { readEntry, type TypedEntry } from './format/entry.ts';
import type { EntryRow } from './store/journal-schema.ts';

/** An entry as people and programs look at it. */
export type JournalEntry = TypedEntry & {
  readonly origin: string;
  readonly seq: number;
  readonly time: number;
  readonly actor: string;
  readonly version: number;
  /** Hexadecimal. */
  readonly hash: string;
};

/** Throws `journal.invalid_entry` for a row that is no entry: somebody edited it. */
export function entryView(row: EntryRow, origin: string): JournalEntry {
  const { seq, at: time, actor, kind, version, data, hash } = row;
  const typed = readEntry({ time, actor, kind, version, data });
  return { ...typed, origin, seq, time, actor, version, hash: hexOf(hash) };
}
