import {
  type EntryPage,
  type HomeJournal,
  JOURNAL_MIGRATIONS,
  type Journal,
  type JournalSchema,
  openHomeForReading,
  recoverHome,
} from '@palyra/journal';
import { openDatabase, statement } from '@palyra/storage';
import type { Kysely } from 'kysely';
import { describe, expect } from 'vitest';
import { journalFaults } from './check-journal.ts';
import type { MakeJournalPlace } from './describe-journal-contract.ts';
import {
  bodyDirectoryOf,
  type JournalHome,
  type JournalPlace,
  keyDirectoryOf,
  openJournalHome,
} from './journal-home.ts';
import { journalTest } from './journal-test.ts';
import { attestSampleCall, createSampleCalls, SAMPLE_ACTOR } from './sample-calls.ts';

/** Those of the releases in which entries and checkpoints had a key of two columns. */
const EARLIER = JOURNAL_MIGRATIONS.slice(0, 3);

const TABLES = [
  'journal_logs',
  'journal_entries',
  'journal_checkpoints',
  'journal_keys',
  'journal_bodies',
  'journal_snapshots',
] as const satisfies readonly (keyof JournalSchema)[];

export function describeEarlierLayout(makePlace: MakeJournalPlace): void {
  const test = journalTest(makePlace);

  describe('a database of an earlier release', () => {
    test('holds after its migration what it held before, and goes on', async ({ place }) => {
      await twoLogs(place);
      const earlier = await makePlace();
      // With the keys and bodies of the other: what is copied was signed with them.
      const moved = { ...earlier, directory: place.directory };
      try {
        await using home = await openJournalHome(place);
        await copyRows(home, moved);
        await expect(openHomeForReading(homeAt(moved))).rejects.toMatchObject({ code: 'journal.earlier_release' });
        await using migrated = await openJournalHome(moved);
        expect(await everyAnswer(migrated)).toEqual(await everyAnswer(home));
        expect(await journalFaults(moved)).toEqual([]);

        await migrated.journal.append(SAMPLE_ACTOR, [createSampleCalls().runEnded(1)]);
        expect(await journalFaults(moved)).toEqual([]);
      } finally {
        await earlier.remove();
      }
    });
  });
}

/** The second begins with a number that the first has too. */
async function twoLogs(place: JournalPlace): Promise<void> {
  for (const log of ['first', 'second']) {
    if (log === 'second') await recoverHome(homeAt(place), { error: () => undefined });
    await using home = await openJournalHome(place);
    const calls = createSampleCalls();
    await attestSampleCall(home.journal, calls, { input: 'git status', output: 'clean' });
    await attestSampleCall(home.journal, calls, { input: 'rm -rf /' });
    await home.journal.append(SAMPLE_ACTOR, [calls.runEnded(2)]);
  }
}

function homeAt(place: JournalPlace): HomeJournal {
  return {
    location: place.location,
    lockTimeoutMs: 5_000,
    keyDirectory: keyDirectoryOf(place),
    bodyDirectory: bodyDirectoryOf(place),
  };
}

async function copyRows({ database }: JournalHome, { location }: JournalPlace): Promise<void> {
  const earlier = await openDatabase<Record<string, never>>({
    location,
    migrations: EARLIER,
    programs: [],
    lockTimeoutMs: 5_000,
    logger: { error: () => undefined },
  });
  try {
    const write = earlier.write as unknown as Kysely<Record<string, Record<string, unknown>>>;
    for (const table of TABLES) {
      const rows = await database.read.selectFrom(table).selectAll().execute();
      const values = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'id')));
      await earlier.commit({ steps: [statement(write.insertInto(table).values(values), { rows: values.length })] });
    }
  } finally {
    await earlier.close();
  }
}

async function everyAnswer({ journal }: JournalHome): Promise<readonly EntryPage[]> {
  const all = await journal.query({ limit: 1000 });
  const data = all.entries.map((entry) => entry.data as Partial<Record<string, string>>);
  const about = (name: string) => [...new Set(data.flatMap((each) => each[name] ?? []))];
  return [
    all,
    ...(await answers(journal, 'run', about('run_id'))),
    ...(await answers(journal, 'call', about('call_id'))),
    await journal.query({ kinds: ['key.changed'], order: 'newest first' }),
  ];
}

function answers(journal: Journal, by: 'run' | 'call', ids: readonly string[]): Promise<readonly EntryPage[]> {
  return Promise.all(ids.map((id) => journal.query({ [by]: id })));
}
