import type { ReadQueries } from '@palyra/storage';
import { rootOf } from './format/merkle-tree.ts';
import { JournalError } from './journal-error.ts';
import { nodeSha256 } from './node-crypto.ts';
import { hashesUpTo } from './pruned-hashes.ts';
import { createBodyReader } from './read-log-bodies.ts';
import { readPages } from './read-log-records.ts';
import { readSubtrees } from './read-log-subtrees.ts';
import { firstOf, LEAST_ID, numberIn, within } from './store/entry-id.ts';
import { type JournalSchema, type LogRow, ONLY_RARE } from './store/journal-schema.ts';
import { createTreeProofs } from './tree-proofs.ts';
import type { LogBase, LogSource } from './verify/log-source.ts';
import { keysBefore } from './written-parts.ts';

/** Every log of a database, oldest first. */
export async function listLogs(read: ReadQueries<JournalSchema>): Promise<readonly LogRow[]> {
  return read.selectFrom('journal_logs').selectAll().orderBy('number').execute();
}

export interface DatabaseSourceOptions {
  /** Of bodies that are in files. */
  readonly directory: string | undefined;
  /** The number of the last log that is verified too. Absent: this one. */
  readonly newest?: number;
}

export interface DatabaseSource extends LogSource {
  /** Whether entries were pruned since the source was made: then what it misses may be nobody's fault. */
  wasPruned(): Promise<boolean>;
}

/**
 * A log of the database as it is now: what a writer appends later is not in it. It gives what is in the tables, however
 * strange, and believes none of it. Throws `StorageError` when the database cannot be read.
 */
export async function createDatabaseSource(
  read: ReadQueries<JournalSchema>,
  log: LogRow,
  { directory, newest = log.number }: DatabaseSourceOptions,
): Promise<DatabaseSource> {
  const { number, origin, root_key: rootKey } = log;
  const extent = await extentOf(read, log);
  const earlierKeys = await keysBefore(read, log, extent.pruned);
  const base = await baseAt(extent.pruned, { read, number });
  const reader = createBodyReader({ read, log: number, end: extent.end, newest, directory });
  return {
    origin,
    rootKey,
    base,
    earlierKeys,
    head: {
      size: extent.size,
      hash: extent.head,
      frontier: extent.frontier,
      sealed: extent.sealed,
      pruned: extent.pruned,
    },
    records: (from) =>
      readPages(read, {
        number,
        from,
        end: extent.end,
        isWhole: from === base.frontier.size,
        hasStray: extent.stray > 0,
      }),
    async earlierRoot(size) {
      const { frontier } = await hashesUpTo(size, { read, number });
      return frontier.size === size ? rootOf(frontier, nodeSha256) : undefined;
    },
    subtrees: readSubtrees({ read, number, pruned: extent.pruned }),
    consistency: (oldSize, newSize) => consistencyIn({ read, number }, oldSize, newSize),
    cosignedSizes: () => cosignedSizesIn({ read, number }),
    async wasPruned() {
      const row = await read
        .selectFrom('journal_logs')
        .select('pruned')
        .where('number', '=', number)
        .executeTakeFirst();
      return row !== undefined && row.pruned > extent.pruned;
    },
    body: (commitment) => reader.body(commitment),
    async snapshot(digest) {
      const row = await read
        .selectFrom('journal_snapshots')
        .select('text')
        .where('digest', '=', digest)
        .executeTakeFirst();
      return row?.text;
    },
  };
}

interface Extent extends Pick<LogRow, 'size' | 'head' | 'frontier' | 'sealed' | 'pruned'> {
  /** Up to where records are read: a writer may go on meanwhile. */
  readonly end: number;
  /** How many entries are of no log at all, of the newest: they would be after its last. */
  readonly stray: number;
}

/** In one statement, or a writer could add an entry between looking at the entries and looking at the checkpoints. */
async function extentOf(read: ReadQueries<JournalSchema>, log: LogRow): Promise<Extent> {
  const row = await read
    .selectFrom('journal_logs')
    .select(({ selectFrom, fn }) => [
      'size',
      'head',
      'frontier',
      'sealed',
      'pruned',
      selectFrom('journal_entries')
        .select(({ fn: of }) => of.max('id').as('id'))
        .where(within(log.number))
        .as('last'),
      selectFrom('journal_entries')
        .select(fn.countAll().as('count'))
        .where('id', '>=', firstOf(log.number + 1))
        .as('after'),
      selectFrom('journal_entries').select(fn.countAll().as('count')).where('id', '<', LEAST_ID).as('before'),
      selectFrom('journal_logs as other')
        .select('other.number')
        .where('other.number', '>', log.number)
        .limit(1)
        .as('later'),
      selectFrom('journal_checkpoints')
        .select(({ fn: of }) => of.max('id').as('id'))
        .where(within(log.number))
        .as('newest'),
    ])
    .where('number', '=', log.number)
    .executeTakeFirst();
  if (row === undefined) return { ...log, end: 0, stray: 0 };
  const { size, head, frontier, sealed, pruned } = row;
  const numberAt = (id: number | null) => (id === null ? undefined : numberIn(log.number, id));
  const end = Math.max((numberAt(row.last) ?? -1) + 1, numberAt(row.newest) ?? 0);
  // SECURITY: T-31 — an entry whose number is of no log would be read by nobody, and found by whoever looks for its call.
  const stray = row.later === null ? Number(row.after ?? 0) + Number(row.before ?? 0) : 0;
  return { size, head, frontier, sealed, pruned, end, stray };
}

interface Where {
  readonly read: ReadQueries<JournalSchema>;
  readonly number: number;
}

async function baseAt(pruned: number, where: Where): Promise<LogBase> {
  const { frontier, last } = await hashesUpTo(pruned, where);
  return { frontier, previous: last };
}

async function consistencyIn(
  { read, number }: Where,
  oldSize: number,
  newSize: number,
): Promise<readonly Uint8Array[] | undefined> {
  try {
    return await createTreeProofs(read, number).consistency(oldSize, newSize);
  } catch (error) {
    if (error instanceof JournalError && error.code === 'journal.not_found') return undefined;
    throw error;
  }
}

/** One an hour for ten years. */
const MOST_COSIGNED = 100_000;

/** They say only what to remember, so that they need not be believed. */
async function cosignedSizesIn({ read, number }: Where): Promise<readonly number[]> {
  const rows = await read
    .selectFrom('journal_entries')
    .select('data')
    .where('kind', '=', 'checkpoint.cosigned')
    .where(ONLY_RARE)
    .where(within(number))
    .orderBy('id', 'desc')
    .limit(MOST_COSIGNED)
    .execute();
  return rows.map(({ data }) => sizeIn(data)).filter((size) => size !== undefined);
}

function sizeIn(data: string): number | undefined {
  try {
    const { size } = JSON.parse(data) as { readonly size?: unknown };
    return typeof size === 'number' ? size : undefined;
  } catch {
    return undefined;
  }
}
