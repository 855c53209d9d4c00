import type { CallerDraft, Journal } from '@palyra/journal';
import { statement } from '@palyra/storage';
import { describe, expect } from 'vitest';
import { journalFaults } from './check-journal.ts';
import type { MakeJournalPlace } from './describe-journal-contract.ts';
import { type JournalHome, openJournalHome } from './journal-home.ts';
import { startJournalProcess } from './journal-process.ts';
import { journalTest } from './journal-test.ts';
import { createSampleCalls, SAMPLE_ACTOR } from './sample-calls.ts';

/** `log.created` and the two keys. */
const FIRST = 3;
const calls = createSampleCalls();

export function describeAppending(makePlace: MakeJournalPlace): void {
  const test = journalTest(makePlace);

  describe('appending', () => {
    test('a new log begins with its root key and the two keys that it certified', async ({ home, place }) => {
      const { entries } = await home.journal.query({});
      expect(entries.map(({ seq, kind, actor }) => ({ seq, kind, actor }))).toEqual([
        { seq: 0, kind: 'log.created', actor: 'daemon:palyrad' },
        { seq: 1, kind: 'key.changed', actor: 'daemon:palyrad' },
        { seq: 2, kind: 'key.changed', actor: 'daemon:palyrad' },
      ]);
      expect(await journalFaults(place)).toEqual([]);
    });

    test('entries of parallel writers are numbered without gaps, and everybody is told the right place', async ({
      home: { journal },
      place,
    }) => {
      const outcomes = await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          journal.append(SAMPLE_ACTOR, i % 2 === 0 ? [calls.runEnded(i)] : [calls.runEnded(i), calls.runEnded(i)]),
        ),
      );
      const told = outcomes.flatMap((outcome, i) =>
        outcome.kind === 'appended' ? outcome.entries.map(({ seq, hash }) => ({ seq, hash, calls: i })) : [],
      );
      const { entries } = await journal.query({ cursor: FIRST - 1, limit: 1000 });
      expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 150 }, (_, i) => FIRST + i));
      const stored = entries.map(({ seq, hash, data }) => ({ seq, hash, calls: (data as { calls: number }).calls }));
      expect(told.toSorted((left, right) => left.seq - right.seq)).toEqual(stored);
      expect(await journalFaults(place)).toEqual([]);
    });

    test('two processes append to one log', async ({ home: { journal }, place }) => {
      const processes = [1, 2].map(() => startJournalProcess({ place, writers: 4, count: 20 }));
      expect(await Promise.all(processes.map((child) => child.end()))).toEqual([0, 0]);
      const { entries } = await journal.query({ cursor: FIRST - 1, limit: 1000 });
      const acknowledged = processes.flatMap((child) => child.acknowledged);
      expect(entries.map(({ seq, hash }) => `${seq} ${hash}`).toSorted()).toEqual(acknowledged.toSorted());
      expect(await journalFaults(place)).toEqual([]);
    });

    test('steps of other tables share the unit: all of it is written, or nothing', async ({ home, place }) => {
      const { journal, database } = home;
      const insert = statement(database.write.insertInto('accounts').values({ id: 'grant', balance: 1 }), { rows: 1 });
      const take = statement(database.write.deleteFrom('accounts').where('id', '=', 'grant'), { rows: 1 });
      const written = await journal.append(SAMPLE_ACTOR, [calls.runEnded(1)], { steps: [insert] });
      expect(written).toMatchObject({ kind: 'appended', results: [{ kind: 'statement', rowCount: 1 }] });

      const takers = await Promise.all(
        Array.from({ length: 10 }, () => journal.append(SAMPLE_ACTOR, [calls.runEnded(2)], { steps: [take] })),
      );
      expect(takers.filter(({ kind }) => kind === 'appended')).toHaveLength(1);
      expect(takers).toContainEqual({ kind: 'conflict', step: 0 });
      expect(await sizeOf(journal)).toBe(FIRST + 2);
      expect(await database.read.selectFrom('accounts').selectAll().execute()).toEqual([]);
      expect(await journalFaults(place)).toEqual([]);
    });

    test.for([
      ['a field too many', { ...calls.runEnded(1).data, note: 'x' }],
      ['a sequence number', { ...calls.runEnded(1).data, seq: 7 }],
      ['a time', { ...calls.runEnded(1).data, time: 7 }],
      ['an actor', { ...calls.runEnded(1).data, actor: 'user:eve' }],
      ['a field too few', { run_id: calls.runEnded(1).data.run_id }],
      ['a sentence for a name', { ...calls.runEnded(1).data, principal: 'pay eve at once' }],
      ['half a number', { ...calls.runEnded(1).data, calls: 0.5 }],
    ] as const)('a draft with %s is refused, and nothing is written', async ([, data], { home, place }) => {
      const drafts = [calls.runEnded(1), { kind: 'run.ended', data } as unknown as CallerDraft];
      await expect(home.journal.append(SAMPLE_ACTOR, drafts)).rejects.toMatchObject({ code: 'journal.invalid_entry' });
      expect(await sizeOf(home.journal)).toBe(FIRST);
      expect(await journalFaults(place)).toEqual([]);
    });

    test('an actor that nobody could be is refused', async ({ home: { journal } }) => {
      await expect(journal.append('root' as never, [calls.runEnded(1)])).rejects.toMatchObject({
        code: 'journal.invalid_actor',
      });
    });

    test('at no moment is there an entry that no checkpoint covers', async ({ home, place }) => {
      const other = await openJournalHome(place);
      let writing = true;
      const append = async ({ journal }: JournalHome) => {
        for (let i = 0; i < 60; i += 1) await journal.append(SAMPLE_ACTOR, [calls.runEnded(i)]);
      };
      const written = Promise.all([append(home), append(home), append(other)]).finally(() => {
        writing = false;
      });
      const uncovered: unknown[] = [];
      while (writing) uncovered.push(...(await logsUnsealed(other)));
      await written;
      expect(uncovered).toEqual([]);
      expect(await journalFaults(place)).toEqual([]);
      await other[Symbol.asyncDispose]();
    });
  });
}

/** In one statement, because the log may grow between two. */
function logsUnsealed({ database }: JournalHome): Promise<readonly unknown[]> {
  return database.read
    .selectFrom('journal_logs')
    .select(['number', 'size', 'sealed'])
    .where(({ eb, selectFrom }) =>
      eb.or([
        eb('size', '!=', eb.ref('sealed')),
        eb(
          'size',
          '!=',
          selectFrom('journal_checkpoints')
            .select(({ fn }) => fn.max('journal_checkpoints.size').as('size'))
            .whereRef('journal_checkpoints.log', '=', 'journal_logs.number'),
        ),
        eb(
          'size',
          '!=',
          selectFrom('journal_entries')
            .select(({ fn }) => fn.countAll<number>().as('entries'))
            .whereRef('journal_entries.log', '=', 'journal_logs.number'),
        ),
      ]),
    )
    .execute();
}

async function sizeOf(journal: Journal): Promise<number> {
  return Number((await journal.checkpoint()).split('\n')[1]);
}
