import { archivePath, digestOfArchive, readArchive } from './archive-file.ts';
import { eraseBodyFile } from './bodies/erase-file.ts';
import { DAEMON } from './create-log.ts';
import { hexOf } from './format/bytes.ts';
import { parseCheckpoint } from './format/checkpoint.ts';
import type { EntryData } from './format/entry-kinds.ts';
import { addLeaf, rootOf } from './format/merkle-tree.ts';
import { JournalError } from './journal-error.ts';
import { nodeSha256 } from './node-crypto.ts';
import { hashesUpTo } from './pruned-hashes.ts';
import { checkpointOf, logOf, type SegmentDeps, segmentsOf } from './segments.ts';
import { whyUnsound } from './sound-archive.ts';
import { idOf, within } from './store/entry-id.ts';
import { type LogRow, ONLY_RARE, type SegmentRow } from './store/journal-schema.ts';
import { keysDigest } from './verify/keys-digest.ts';
import { keysBefore } from './written-parts.ts';

export interface PruneOptions {
  /** Where the archives are: each is looked at once more before its entries go. */
  readonly directory: string;
  /** How long the newest entry of a segment is kept. */
  readonly olderThanMs: number;
}

export type PruneOutcome =
  /** Entries before `next` are only in the archive now; their hashes stay. */
  { readonly kind: 'pruned'; readonly next: number } | { readonly kind: 'nothing to prune' };

/**
 * Lets go of archived segments, from the oldest on. The log stays verifiable from the last checkpoint before what is
 * left. Throws `journal.cannot_prune` when an archive is missing or is not the one that was recorded.
 */
export async function pruneSegments(deps: SegmentDeps, options: PruneOptions): Promise<PruneOutcome> {
  const log = await logOf(deps);
  const next = await prunableUpTo(log, { ...deps, ...options });
  if (next === log.pruned) return { kind: 'nothing to prune' };

  const { note } = await checkpointOf(deps, log, next);
  const root = hexOf(parseCheckpoint(note).checkpoint.root);
  await requireHashes(deps, log, { next, root });
  const keys = await digestOfKeys(deps, log, next);
  const files = await bodyFiles(deps, log, next);
  const outcome = await deps.append(DAEMON, [{ kind: 'segment.pruned', data: { next, root, keys } }]);
  if (outcome.kind === 'conflict') return { kind: 'nothing to prune' };
  // What a crash leaves here is swept when the journal is opened: no row refers to it any more.
  if (deps.bodyDirectory !== undefined) {
    for (const commitment of files) await eraseBodyFile(deps.bodyDirectory, commitment);
  }
  // SECURITY: T-54 — until then what was pruned is still in the write-ahead log.
  await deps.database.scrub();
  return { kind: 'pruned', next };
}

/** SECURITY: T-31 — hashes are all that stays of what is pruned: with others the rest of the log would verify no more. */
async function requireHashes(
  { database }: SegmentDeps,
  { number, pruned }: LogRow,
  { next, root }: { readonly next: number; readonly root: string },
): Promise<void> {
  let { frontier } = await hashesUpTo(pruned, { read: database.read, number });
  while (frontier.size < next) {
    const rows = await database.read
      .selectFrom('journal_entries')
      .select('hash')
      .where(within(number, frontier.size, Math.min(next, frontier.size + HASHES_AT_A_TIME)))
      .orderBy('id')
      .execute();
    if (rows.length === 0) break;
    for (const { hash } of rows) frontier = addLeaf(frontier, hash, { sha256: nodeSha256 });
  }
  if (frontier.size === next && hexOf(rootOf(frontier, nodeSha256)) === root) return;
  throw new JournalError('journal.cannot_prune', 'The hashes that would be kept are not those that were signed.', {
    fix: 'Run `palyra verify` on this home.',
  });
}

const HASHES_AT_A_TIME = 10_000;

/** SECURITY: T-53 — from the entries themselves: a row that somebody took out of the table must not be forgotten with them. */
async function digestOfKeys({ database }: SegmentDeps, log: LogRow, next: number): Promise<string> {
  const rows = await database.read
    .selectFrom('journal_entries')
    .select('data')
    .where('kind', '=', 'key.changed')
    .where(ONLY_RARE)
    .where(within(log.number, 0, next))
    .orderBy('id')
    .execute();
  const said = rows.map(({ data }) => ({ ...(JSON.parse(data) as EntryData<'key.changed'>), origin: log.origin }));
  const pruned = await keysBefore(database.read, log, log.pruned);
  const digest = keysDigest([...pruned, ...said], nodeSha256);
  if (digest === keysDigest(await keysBefore(database.read, log, next), nodeSha256)) return digest;
  throw new JournalError('journal.cannot_prune', 'The keys that are kept are not those that the log says it had.', {
    fix: 'Run `palyra verify` on this home.',
  });
}

async function prunableUpTo(log: LogRow, deps: SegmentDeps & PruneOptions): Promise<number> {
  let reached = log.pruned;
  for (const segment of await segmentsOf(deps, log)) {
    if (segment.first !== reached || segment.archive === null || !(await isOld(segment, log, deps))) break;
    await requireArchive(segment, log, deps);
    reached = segment.next;
  }
  return reached;
}

async function isOld({ next }: SegmentRow, log: LogRow, deps: SegmentDeps & PruneOptions): Promise<boolean> {
  const newest = await deps.database.read
    .selectFrom('journal_entries')
    .select('at')
    .where('id', '=', idOf(log.number, next - 1))
    .executeTakeFirst();
  return newest !== undefined && newest.at <= deps.clock.now() - deps.olderThanMs;
}

async function requireArchive(segment: SegmentRow, log: LogRow, deps: SegmentDeps & PruneOptions): Promise<void> {
  const { first, next } = segment;
  const path = archivePath(deps.directory, { origin: log.origin, first, next });
  const digest = await digestOfArchive(path);
  if (digest === undefined) throw cannotPrune(segment, 'is not there');
  // SECURITY: T-31 — the table of segments is signed by nobody: what it alone says would have entries deleted for any file.
  if (digest !== segment.archive || digest !== (await archiveSaid(segment, log, deps)))
    throw cannotPrune(segment, 'is not the one that was written');
  const why = await whyUnsound(() => readArchive(path), next, { ...deps, log });
  if (why !== undefined) throw cannotPrune(segment, `is none: ${why}`);
}

/** The digest that the log itself has of it. */
async function archiveSaid({ first, next }: SegmentRow, log: LogRow, { database }: SegmentDeps) {
  const rows = await database.read
    .selectFrom('journal_entries')
    .select('data')
    .where('kind', '=', 'segment.archived')
    .where(ONLY_RARE)
    .where(within(log.number, next))
    .orderBy('id', 'desc')
    .execute();
  const said = rows.map(({ data }) => JSON.parse(data) as EntryData<'segment.archived'>);
  return said.find((each) => each.first === first && each.next === next)?.file;
}

function cannotPrune({ first, next }: SegmentRow, what: string): JournalError {
  return new JournalError('journal.cannot_prune', `The archive of entries ${first} to ${next - 1} ${what}.`, {
    fix: 'Put it back from a copy; nothing was pruned.',
  });
}

async function bodyFiles({ database }: SegmentDeps, log: LogRow, next: number): Promise<readonly string[]> {
  const rows = await database.read
    .selectFrom('journal_bodies')
    .select('commitment')
    .where('log', '=', log.number)
    .where('seq', '<', next)
    .where('place', '=', 'file')
    .execute();
  return rows.map(({ commitment }) => commitment);
}
