import type { ReadQueries } from '@palyra/storage';
import { openBodyFiles } from './bodies/read-body.ts';
import { base64Of, hexOf } from './format/bytes.ts';
import { fieldsOfType } from './format/check-data.ts';
import { isEntryKind } from './format/entry-data.ts';
import { JournalError } from './journal-error.ts';
import type { JournalSchema } from './store/journal-schema.ts';
import { type BodyItem, SNAPSHOTS_KEPT, type SnapshotLine } from './verify/export-format.ts';
import type { WrittenEntry } from './verify/written-log.ts';

/** What goes with entries into an export. */
export interface ExportedContent {
  /** Undefined for an entry without any. Throws as reading bodies does: an export that cannot verify is none. */
  bodiesOf(entry: WrittenEntry): Promise<readonly BodyItem[] | undefined>;
  /** Those that a reader does not remember from before. */
  snapshotsFor(entry: WrittenEntry): AsyncIterable<SnapshotLine>;
}

export interface ExportedContentDeps {
  readonly read: ReadQueries<JournalSchema>;
  readonly bodyDirectory: string | undefined;
  readonly log: number;
}

export function createExportedContent({ read, bodyDirectory, log }: ExportedContentDeps): ExportedContent {
  const files = openBodyFiles(bodyDirectory);
  const remembered = new Set<string>();

  const itemFor = async (commitment: string): Promise<BodyItem> => {
    const row = await read
      .selectFrom('journal_bodies')
      .select(['commitment', 'salt', 'body', 'place', 'bytes', 'total_bytes', 'erased_by', 'erased_in'])
      .where('commitment', '=', commitment)
      .where('log', '=', log)
      .executeTakeFirst();
    if (row === undefined) throw new JournalError('journal.body_corrupt', 'A stored body is missing.');
    if (row.place === 'erased' && row.erased_by !== null) {
      const { erased_by, erased_in } = row;
      if (erased_in === null || erased_in === log) return { commitment, erased_by };
      return { commitment, erased_by, erased_in: await originOf(erased_in) };
    }
    const bytes = await files.read(row);
    return { commitment, salt: hexOf(row.salt as Uint8Array), body: base64Of(bytes) };
  };

  const originOf = async (number: number): Promise<string> => {
    const row = await read.selectFrom('journal_logs').select('origin').where('number', '=', number).executeTakeFirst();
    if (row === undefined) throw new JournalError('journal.body_corrupt', 'A body was erased by no log that is here.');
    return row.origin;
  };

  return {
    async bodiesOf(entry) {
      const commitments = referencesIn(entry, 'body');
      if (commitments.length === 0) return undefined;
      const items: BodyItem[] = [];
      for (const commitment of commitments) items.push(await itemFor(commitment));
      return items;
    },
    async *snapshotsFor(entry) {
      for (const digest of referencesIn(entry, 'snapshot')) {
        if (remembered.has(digest)) continue;
        const row = await read
          .selectFrom('journal_snapshots')
          .select('text')
          .where('digest', '=', digest)
          .executeTakeFirst();
        if (row === undefined) continue;
        yield { type: 'snapshot', digest, text: row.text };
        remembered.add(digest);
        const [oldest] = remembered;
        if (remembered.size > SNAPSHOTS_KEPT && oldest !== undefined) remembered.delete(oldest);
      }
    },
  };
}

function referencesIn({ kind, data }: WrittenEntry, type: 'body' | 'snapshot'): readonly string[] {
  if (!isEntryKind(kind)) return [];
  const fields = fieldsOfType(kind, type);
  if (fields.length === 0) return [];
  const values = JSON.parse(data) as Readonly<Record<string, unknown>>;
  return fields.map((field) => values[field]).filter((value) => typeof value === 'string');
}
