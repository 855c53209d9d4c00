import { sql } from '@palyra/storage';
import { segmentsEdited } from './check-kept-segments.ts';
import type { ReadJournal } from './raw-rows.ts';
import { firstOf } from './store/entry-id.ts';
import { KEPT_LEVEL, type LogRow, TILE } from './store/journal-schema.ts';
import type { Finding } from './verify/report.ts';

/**
 * Whether what is kept beside the chain of a log is there because of its entries. SECURITY: T-31 — what somebody puts where the log
 * comes to only later is in nobody's way until then: it would keep the writer from going on, have a key count as retired, or
 * be taken for the hashes of what is pruned.
 */
export async function keptEdited(read: ReadJournal, number: number): Promise<Finding | undefined> {
  if (await holdsOtherKeys(read, number)) {
    return { code: 'index_edited', why: 'A key is kept beside the log that no entry at its place tells of.' };
  }
  if ((await holdsOtherNodes(read, number)) || (await holdsOtherTiles(read, number))) {
    return { code: 'head_edited', why: 'Hashes are kept of entries that are not there yet, or were not pruned.' };
  }
  return segmentsEdited(read, number);
}

const TABLES = ['journal_keys', 'journal_nodes', 'journal_tiles', 'journal_segments', 'journal_bodies'] as const;

/**
 * Whether there is anything of a log that is not there. SECURITY: T-31 — nobody reads it until `palyra journal recover` begins the log
 * of that number, which then finds its places taken.
 */
export async function ofNoLog(read: ReadJournal, logs: readonly LogRow[]): Promise<Finding | undefined> {
  // The first is 1, and each begins when there is one before it.
  if (logs.some(({ number }, at) => number !== at + 1))
    return headEdited('The logs are numbered as nobody numbers them.');
  const newest = sql`(select max(number) from journal_logs)`;
  for (const table of TABLES) {
    const stray = await read
      .selectFrom(table)
      .select('log')
      .where(sql<boolean>`log < 1 or log > ${newest}`)
      .limit(1)
      .executeTakeFirst();
    if (stray !== undefined) return headEdited(`${table} has a row of a log that is not there.`);
  }
  const checkpoint = await read
    .selectFrom('journal_checkpoints')
    .select(sql<number>`1`.as('found'))
    .where(sql<boolean>`id < ${firstOf(1)} or id >= (${newest} + 1) * ${firstOf(1)}`)
    .limit(1)
    .executeTakeFirst();
  return checkpoint === undefined ? undefined : headEdited('There is a checkpoint of a log that is not there.');
}

function headEdited(why: string): Finding {
  return { code: 'head_edited', why };
}

/** Each in one statement: a writer may go on meanwhile. */
async function holdsOtherKeys(read: ReadJournal, number: number): Promise<boolean> {
  const stray = await read
    .selectFrom('journal_keys as kept')
    .innerJoin('journal_logs as whole', 'whole.number', 'kept.log')
    .select('kept.seq')
    .where('kept.log', '=', number)
    // Those of pruned entries are held to the digest that the log has of them.
    .whereRef('kept.seq', '>=', 'whole.pruned')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('journal_entries as entry')
            .select('entry.id')
            .where(sql<boolean>`entry.id = ${firstOf(number)} + kept.seq`)
            .where('entry.kind', '=', 'key.changed'),
        ),
      ),
    )
    .executeTakeFirst();
  return stray !== undefined;
}

/** More than a log can have entries for. */
const LEVELS = Array.from({ length: 5 }, (_, at) => (at + 1) * KEPT_LEVEL);

async function holdsOtherNodes(read: ReadJournal, number: number): Promise<boolean> {
  const stray = await read
    .selectFrom('journal_nodes as kept')
    .innerJoin('journal_logs as whole', 'whole.number', 'kept.log')
    .select('kept.place')
    .where('kept.log', '=', number)
    .where(({ or, and, eb }) =>
      or([
        eb('kept.level', 'not in', LEVELS),
        eb('kept.place', '<', 0),
        ...LEVELS.map((level) =>
          and([eb('kept.level', '=', level), sql<boolean>`kept.place >= whole.size / ${sql.lit(2 ** level)}`]),
        ),
      ]),
    )
    .executeTakeFirst();
  return stray !== undefined;
}

async function holdsOtherTiles(read: ReadJournal, number: number): Promise<boolean> {
  const hashes = sql<number>`length(kept.hashes) / 32`;
  const before = sql<number>`kept.tile * ${sql.lit(TILE)}`;
  const stray = await read
    .selectFrom('journal_tiles as kept')
    .innerJoin('journal_logs as whole', 'whole.number', 'kept.log')
    .select('kept.tile')
    .where('kept.log', '=', number)
    .where(({ or, eb }) =>
      or([
        eb('kept.tile', '<', 0),
        sql<boolean>`length(kept.hashes) % 32 <> 0`,
        sql<boolean>`${hashes} > ${sql.lit(TILE)}`,
        sql<boolean>`${before} + ${hashes} > whole.pruned`,
      ]),
    )
    .executeTakeFirst();
  return stray !== undefined;
}
