import type { EntryRecord, LogSource } from './log-source.ts';

/** The entries from one number up to another, that one left out, read again. */
export async function* entriesBetween(
  source: Pick<LogSource, 'records'>,
  from: number,
  to: number,
): AsyncGenerator<EntryRecord> {
  for await (const page of source.records(from)) {
    for (const record of page) {
      if (record.kind !== 'entry') continue;
      if (!(record.entry.seq < to)) return;
      if (record.entry.seq >= from) yield record;
    }
  }
}
