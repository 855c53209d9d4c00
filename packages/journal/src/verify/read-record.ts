import { type EntryIndex, indexOf, readEntry, type TypedEntry } from '../format/entry.ts';
import { JournalError } from '../journal-error.ts';
import type { EntryRecord } from './log-source.ts';
import type { Finding } from './report.ts';

export type ReadRecord =
  | { readonly kind: 'read'; readonly entry: TypedEntry }
  | { readonly kind: 'broken'; readonly finding: Finding };

/** The entry by its kind, and whether the store finds it by what it says. */
export function readRecord({ entry: stored, index }: EntryRecord): ReadRecord {
  try {
    const entry = readEntry(stored);
    const differing = index === undefined ? undefined : differenceIn(index, indexOf(stored.actor, entry.data));
    if (differing === undefined) return { kind: 'read', entry };
    const why = `Entry ${stored.seq} is found by another ${differing} than it has.`;
    return { kind: 'broken', finding: { code: 'index_edited', seq: stored.seq, why } };
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    return { kind: 'broken', finding: { code: 'entry_malformed', seq: stored.seq, why: error.message } };
  }
}

const COLUMNS: readonly (keyof EntryIndex)[] = ['run_id', 'session_id', 'call_id', 'principal', 'tool', 'outcome'];

function differenceIn(found: EntryIndex, expected: EntryIndex): string | undefined {
  return COLUMNS.find((column) => found[column] !== expected[column]);
}
