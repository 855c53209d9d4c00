import type { Clock } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import { type StoredCheckpoint, storedCheckpoint } from './cosigned-checkpoint.ts';
import { currentLog } from './create-log.ts';
import { JournalError } from './journal-error.ts';
import type { Journal } from './open-journal.ts';
import type { JournalSchema, LogRow, SegmentRow } from './store/journal-schema.ts';

/**
 * A log is sealed in segments, from one checkpoint to another; a sealed segment can be archived to a file, and an
 * archived one pruned. Each step is an entry first.
 */
export interface SegmentDeps {
  readonly database: Pick<Database<JournalSchema>, 'read' | 'scrub'>;
  readonly append: Journal['appendOwn'];
  readonly bodyDirectory: string | undefined;
  readonly clock: Clock;
}

/** Throws `journal.no_log`. */
export async function logOf({ database }: Pick<SegmentDeps, 'database'>): Promise<LogRow> {
  const log = await currentLog(database);
  if (log !== undefined) return log;
  throw new JournalError('journal.no_log', 'There is no log in this database.');
}

export async function segmentsOf(
  { database }: Pick<SegmentDeps, 'database'>,
  log: LogRow,
): Promise<readonly SegmentRow[]> {
  return database.read
    .selectFrom('journal_segments')
    .selectAll()
    .where('log', '=', log.number)
    .where('next', '>', log.pruned)
    .orderBy('first')
    .execute();
}

/** Throws `journal.not_found`. */
export async function checkpointOf(
  { database }: Pick<SegmentDeps, 'database'>,
  log: LogRow,
  size: number,
): Promise<StoredCheckpoint> {
  const found = await storedCheckpoint(database.read, { log: log.number, size });
  if (found !== undefined) return found;
  throw new JournalError('journal.not_found', `There is no checkpoint of size ${size}.`, {
    fix: 'Run `palyra verify` on this home.',
  });
}
