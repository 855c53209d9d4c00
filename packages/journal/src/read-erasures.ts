import type { ReadQueries } from '@palyra/storage';
import { idOf } from './store/entry-id.ts';
import type { JournalSchema } from './store/journal-schema.ts';
import type { SourceBody } from './verify/log-source.ts';

/** What the table says about a body that is gone. */
export interface ErasedRow {
  readonly commitment: string;
  readonly erased_by: number | null;
  readonly erased_in: number | null;
}

export interface ErasureReader {
  /** For each row, whether an entry says the same, as far as whoever verifies the log does not come to that entry. */
  bodiesFor(rows: readonly ErasedRow[]): Promise<ReadonlyMap<string, SourceBody>>;
}

export interface ErasureDeps {
  readonly read: ReadQueries<JournalSchema>;
  /** The number of the log that the bodies are of. */
  readonly log: number;
  /** Up to where that log is verified: a writer may have gone on. */
  readonly end: number;
  /** The number of the last log that is verified with it. */
  readonly newest: number;
}

export function createErasureReader({ read, log, end, newest }: ErasureDeps): ErasureReader {
  /** Undefined: where the entry stands must be looked at. */
  const atOnce = ({ erased_by, erased_in }: ErasedRow): SourceBody | undefined => {
    const by = erased_in ?? log;
    if (erased_by === null) return by === log ? { kind: 'erased', erasedBy: undefined } : { kind: 'missing' };
    // No log can say anything about one that came after it.
    if (by < log) return { kind: 'missing' };
    return by === log && erased_by < end ? { kind: 'erased', erasedBy: erased_by } : undefined;
  };
  const lookedUp = ({ commitment, erased_by, erased_in }: ErasedRow, found: Found): SourceBody => {
    const by = erased_in ?? log;
    const seq = erased_by ?? -1;
    // SECURITY: T-31 — a number in a table erases nothing: there must be an entry that names the body.
    const isStated = found.erasures.get(placeOf(by, seq)) === commitment;
    if (isStated && by !== log && by <= newest) return { kind: 'erased in a later log' };
    return isStated || seq < (found.pruned.get(by) ?? 0) ? { kind: 'said to be erased' } : { kind: 'missing' };
  };
  return {
    async bodiesFor(rows) {
      const open = rows.filter((row) => atOnce(row) === undefined);
      const found = open.length === 0 ? NOTHING : await findErasures(read, open, log);
      return new Map(rows.map((row) => [row.commitment, atOnce(row) ?? lookedUp(row, found)]));
    },
  };
}

interface Found {
  /** The commitments that the entries at these places name as erased. */
  readonly erasures: ReadonlyMap<string, string>;
  /** Up to where each log was pruned. */
  readonly pruned: ReadonlyMap<number, number>;
}

const NOTHING: Found = { erasures: new Map(), pruned: new Map() };

async function findErasures(read: ReadQueries<JournalSchema>, rows: readonly ErasedRow[], own: number): Promise<Found> {
  const numbers = [...new Set(rows.map(({ erased_in }) => erased_in ?? own))];
  const entries = await read
    .selectFrom('journal_entries')
    .select(['log', 'seq', 'data'])
    .where(
      'id',
      'in',
      rows.map(({ erased_in, erased_by }) => idOf(erased_in ?? own, erased_by ?? -1)),
    )
    .where('kind', '=', 'body.erased')
    .execute();
  // Afterwards: an entry that was not there any more is then one that was pruned.
  const logs = await read
    .selectFrom('journal_logs')
    .select(['number', 'pruned'])
    .where('number', 'in', numbers)
    .execute();
  return {
    erasures: new Map(entries.map(({ log, seq, data }) => [placeOf(log, seq), bodyNamedIn(data)])),
    pruned: new Map(logs.map(({ number, pruned }) => [number, pruned])),
  };
}

function placeOf(log: number, seq: number): string {
  return `${log}/${seq}`;
}

/** Whether the entry is what it was is for those to find who verify its log. */
function bodyNamedIn(data: string): string {
  try {
    return String((JSON.parse(data) as { readonly body?: unknown }).body);
  } catch {
    return '';
  }
}
