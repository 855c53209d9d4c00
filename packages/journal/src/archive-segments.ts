import { archivePath, writeArchive } from './archive-file.ts';
import { DAEMON } from './create-log.ts';
import { JournalError } from './journal-error.ts';
import { logOf, type SegmentDeps, segmentsOf } from './segments.ts';
import { whyUnsound } from './sound-archive.ts';
import type { LogRow, SegmentRow } from './store/journal-schema.ts';
import { writeExport } from './write-export.ts';

export interface ArchivedSegment {
  readonly first: number;
  readonly next: number;
  readonly path: string;
  /** SHA-256 of the file, hexadecimal. */
  readonly digest: string;
}

/**
 * Writes every sealed segment that has no archive yet to a file: an export of its range, with bodies. A file counts when
 * it was read back and verified. Throws `journal.not_archived`; what was archived before stays.
 */
export async function archiveSegments(deps: SegmentDeps, directory: string): Promise<readonly ArchivedSegment[]> {
  const log = await logOf(deps);
  const archived: ArchivedSegment[] = [];
  for (const segment of await segmentsOf(deps, log)) {
    if (segment.archive === null) archived.push(await archiveSegment(segment, { ...deps, log, directory }));
  }
  return archived;
}

interface Archiving extends SegmentDeps {
  readonly log: LogRow;
  readonly directory: string;
}

async function archiveSegment({ first, next }: SegmentRow, archiving: Archiving): Promise<ArchivedSegment> {
  const { database, bodyDirectory, append, log, directory } = archiving;
  const path = archivePath(directory, { origin: log.origin, first, next });
  const deps = { read: database.read, bodyDirectory };
  const written = await writeArchive(path, writeExport(deps, { log, from: first, to: next, bodies: true }));
  try {
    const why = await whyUnsound(() => written.text(), next, archiving);
    if (why !== undefined) throw notArchived(why);
  } catch (thrown) {
    await written.discard();
    throw thrown;
  }
  await written.keep();
  const outcome = await append(DAEMON, [{ kind: 'segment.archived', data: { first, next, file: written.digest } }]);
  if (outcome.kind === 'conflict') throw notArchived('it was archived meanwhile');
  return { first, next, path, digest: written.digest };
}

function notArchived(why: string): JournalError {
  return new JournalError('journal.not_archived', `A segment was not archived: ${why}`, {
    fix: 'Run `palyra verify` on this home.',
  });
}
