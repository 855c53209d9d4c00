import { type Clock, secureRandomBytes } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import { type Body, type BodySource, createBodyPreparer } from './bodies/prepare-body.ts';
import { openBodyFiles, type StoredBodyRow } from './bodies/read-body.ts';
import { sweepBodyFiles } from './bodies/sweep-files.ts';
import { JournalError } from './journal-error.ts';
import type { JournalSchema } from './store/journal-schema.ts';

/** What was said, beside the chain that only commits to it. */
export interface StoredBodies {
  /** Ready to be named in a draft. Never fails because there is much of it: what is over the cap is cut and counted. */
  prepare(source: BodySource): Promise<Body>;
  /** Throws `journal.not_found`, `journal.body_erased`, `journal.body_corrupt`. */
  read(commitment: string): Promise<ReadBody>;
}

export interface ReadBody {
  readonly bytes: Uint8Array;
  readonly salt: Uint8Array;
  /** More than are there: the rest was cut off when it was recorded. */
  readonly totalBytes: number;
}

export interface StoredBodiesDeps {
  readonly database: Pick<Database<JournalSchema>, 'read'>;
  /** Absent: everything is in the database, because its readers share no disk. */
  readonly directory: string | undefined;
  readonly inlineBytes?: number;
  readonly maxBytes?: number;
}

export function createStoredBodies({ database, directory, ...limits }: StoredBodiesDeps): StoredBodies {
  const preparer = createBodyPreparer({ directory, random: secureRandomBytes, ...limits });
  const files = openBodyFiles(directory);
  return {
    prepare: (source) => preparer.prepare(source),
    async read(commitment) {
      const row = await bodyRow(database, commitment);
      const bytes = await files.read(row);
      return { bytes, salt: row.salt as Uint8Array, totalBytes: row.total_bytes };
    },
  };
}

export async function bodyRow(
  database: Pick<Database<JournalSchema>, 'read'>,
  commitment: string,
): Promise<StoredBodyRow> {
  const row = await database.read
    .selectFrom('journal_bodies')
    .select(['commitment', 'salt', 'body', 'place', 'bytes', 'total_bytes'])
    .where('commitment', '=', commitment)
    .executeTakeFirst();
  if (row !== undefined) return row;
  throw new JournalError('journal.not_found', 'There is no such body.', {
    fix: 'Give the commitment as the entry has it: 64 hexadecimal digits.',
  });
}

const STALE_MS = 3_600_000;

/** What a crash left between a file and its row, and files whose rows were erased just before it. */
export async function sweepBodies(
  database: Pick<Database<JournalSchema>, 'read'>,
  directory: string,
  clock: Clock,
): Promise<void> {
  const withPlace = async (commitments: readonly string[], place: 'file' | 'erased') => {
    const rows = await database.read
      .selectFrom('journal_bodies')
      .select('commitment')
      .where('commitment', 'in', [...commitments])
      .where('place', '=', place)
      .execute();
    return new Set(rows.map(({ commitment }) => commitment));
  };
  await sweepBodyFiles({
    directory,
    clock,
    olderThanMs: STALE_MS,
    isKnown: (commitments) => withPlace(commitments, 'file'),
    isErased: (commitments) => withPlace(commitments, 'erased'),
  });
}
