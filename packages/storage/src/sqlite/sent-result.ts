import type { QueryResult } from '../program.ts';
import type { Row, StoredValue } from '../value.ts';

/**
 * Rows, or their values without the names of their columns: copying a name with each value to another thread takes longer
 * than reading the value from the database, and finding it again there takes longer still.
 */
export type SentResult =
  | QueryResult
  /** Of one row after the other. */
  | { readonly columns: readonly string[]; readonly values: readonly StoredValue[] };

/** Where it arrives. */
export function received(sent: SentResult): QueryResult {
  if ('rows' in sent) return sent;
  const { columns, values } = sent;
  const rows: Row[] = [];
  for (let at = 0; at < values.length; at += columns.length) {
    const row: Record<string, StoredValue> = {};
    for (let index = 0; index < columns.length; index += 1) {
      row[columns[index] as string] = values[at + index] as StoredValue;
    }
    rows.push(row);
  }
  return { rowCount: rows.length, rows };
}
