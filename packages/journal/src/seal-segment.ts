import { DAEMON } from './create-log.ts';
import { hexOf } from './format/bytes.ts';
import { parseCheckpoint } from './format/checkpoint.ts';
import { checkpointOf, logOf, type SegmentDeps } from './segments.ts';
import { within } from './store/entry-id.ts';
import type { LogRow } from './store/journal-schema.ts';

export interface SealOptions {
  /** So many entries are enough for a segment. */
  readonly entries: number;
  /** So old may the first entry of an open segment become. */
  readonly ageMs: number;
}

export type SealOutcome =
  | { readonly kind: 'sealed'; readonly first: number; readonly next: number }
  | { readonly kind: 'not yet' };

/** Closes what was written since the last segment, up to the newest checkpoint, when it is much or old enough. */
export async function sealSegment(deps: SegmentDeps, { entries, ageMs }: SealOptions): Promise<SealOutcome> {
  const log = await logOf(deps);
  const first = await openSince(deps, log);
  const next = log.sealed;
  const isDue = next - first >= entries || (await isOld({ first, next }, { ...deps, log, ageMs }));
  if (!isDue || next <= first) return { kind: 'not yet' };

  const { note } = await checkpointOf(deps, log, next);
  const root = hexOf(parseCheckpoint(note).checkpoint.root);
  const outcome = await deps.append(DAEMON, [{ kind: 'segment.sealed', data: { first, next, root } }]);
  return outcome.kind === 'appended' ? { kind: 'sealed', first, next } : { kind: 'not yet' };
}

async function openSince({ database }: SegmentDeps, log: LogRow): Promise<number> {
  const last = await database.read
    .selectFrom('journal_segments')
    .select('next')
    .where('log', '=', log.number)
    .orderBy('next', 'desc')
    .limit(1)
    .executeTakeFirst();
  // Whatever became of its row, what was pruned was sealed.
  return Math.max(last?.next ?? 0, log.pruned);
}

interface Age {
  readonly log: LogRow;
  readonly ageMs: number;
}

/**
 * By the oldest entry that is about anything but segments: in a journal where nothing happens, sealing must not become
 * the thing that happens.
 */
async function isOld(
  { first, next }: { readonly first: number; readonly next: number },
  { database, clock, log, ageMs }: SegmentDeps & Age,
): Promise<boolean> {
  const oldest = await database.read
    .selectFrom('journal_entries')
    .select('at')
    .where(within(log.number, first, next))
    .where('kind', 'not in', ['segment.sealed', 'segment.archived', 'segment.pruned'])
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return oldest !== undefined && oldest.at <= clock.now() - ageMs;
}
