import type { CallerDraft, EntryFilter, EntryPage, Journal, JournalEntry, PageRequest } from '@palyra/journal';
import { createIdSource } from '@palyra/primitives';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { createFakeClock } from '../fake-clock.ts';
import type { MakeJournalPlace } from './describe-journal-contract.ts';
import { openJournalHome } from './journal-home.ts';
import { journalTest } from './journal-test.ts';
import { createSampleCalls, SAMPLE_ACTOR, SAMPLE_SNAPSHOT } from './sample-calls.ts';

type Query = PageRequest & EntryFilter;

export function describeQueries(makePlace: MakeJournalPlace): void {
  const test = journalTest(makePlace);

  describe('queries', () => {
    test('pages of any size, filter and order hold what a look at every entry finds', async ({ place }) => {
      const clock = createFakeClock();
      await using home = await openJournalHome(place, { clock });
      for (const draft of await assortment(home.journal)) {
        await home.journal.append(SAMPLE_ACTOR, [draft]);
        await clock.advance(1_000);
      }
      const all = (await home.journal.query({ limit: 1000 })).entries;
      await fc.assert(
        fc.asyncProperty(queriesAbout(all), async (query) => {
          const expected = all.filter((entry) => isWanted(entry, query));
          if (query.order === 'newest first') expected.reverse();
          expect(await everyPage(home.journal, query)).toEqual(expected);
        }),
        { numRuns: 60 },
      );
    });

    test.for([
      { limit: 0 },
      { limit: 1001 },
      { limit: 1.5 },
      { cursor: -2 },
      { cursor: Number.NaN },
      { kinds: ['no.such.kind'] },
    ])('%j is refused', async (query, { home: { journal } }) => {
      await expect(journal.query(query as Query)).rejects.toMatchObject({ code: 'journal.invalid_query' });
    });

    test('no kinds at all match nothing', async ({ home: { journal } }) => {
      expect(await journal.query({ kinds: [] })).toEqual({ entries: [] });
    });
  });
}

async function assortment(journal: Journal): Promise<readonly CallerDraft[]> {
  const snapshot = await journal.putSnapshot(SAMPLE_SNAPSHOT);
  const runs = [createSampleCalls(), createSampleCalls(createIdSource({ now: () => 5 }))];
  return runs.flatMap((calls, run) =>
    Array.from({ length: 12 }, (_, i): CallerDraft => {
      const of = calls.call(i % 2 === 0 ? 'process.run' : 'fs.read');
      if (i % 4 === 0) return calls.runEnded(i);
      if (i % 4 === 1) return { kind: 'outcome', data: { ...of, outcome: i % 3 === 0 ? 'failed' : 'completed' } };
      const decision = calls.decision(snapshot, { ...of, principal: run === 0 ? 'agent:coder' : 'agent:writer' });
      return i % 4 === 2 ? decision : { ...decision, data: { ...decision.data, decision: 'deny' } };
    }),
  );
}

function queriesAbout(all: readonly JournalEntry[]): fc.Arbitrary<Query> {
  const anyOf = (name: string) =>
    fc.constantFrom(...new Set(all.map((entry) => (entry.data as Record<string, string>)[name] ?? 'none')));
  return fc.record(
    {
      run: anyOf('run_id'),
      session: anyOf('session_id'),
      call: anyOf('call_id'),
      principal: fc.constantFrom('agent:coder', 'agent:writer', 'daemon:palyrad'),
      tool: anyOf('tool'),
      kinds: fc.subarray(['decision', 'outcome', 'run.ended', 'key.changed'] as const, { minLength: 1 }),
      outcome: fc.constantFrom('allow', 'deny', 'completed', 'failed'),
      since: fc.constantFrom(...all.map(({ time }) => time)),
      until: fc.constantFrom(...all.map(({ time }) => time)),
      limit: fc.integer({ min: 1, max: 40 }),
      order: fc.constantFrom('oldest first', 'newest first'),
    },
    { requiredKeys: ['limit', 'order'] },
  );
}

function isWanted(entry: JournalEntry, query: Query): boolean {
  const data = entry.data as Record<string, unknown>;
  const found: Readonly<Record<string, unknown>> = {
    run: data['run_id'],
    session: data['session_id'],
    call: data['call_id'],
    principal: data['principal'] ?? entry.actor,
    tool: data['tool'],
    outcome: data['outcome'] ?? data['decision'],
  };
  return (
    Object.entries(found).every(
      ([name, value]) => query[name as keyof Query] === undefined || query[name as keyof Query] === value,
    ) &&
    (query.kinds === undefined || query.kinds.includes(entry.kind)) &&
    (query.since === undefined || entry.time >= query.since) &&
    (query.until === undefined || entry.time < query.until)
  );
}

async function everyPage(journal: Journal, query: Query): Promise<readonly JournalEntry[]> {
  const found: JournalEntry[] = [];
  let cursor: number | undefined;
  do {
    const page: EntryPage = await journal.query(cursor === undefined ? query : { ...query, cursor });
    expect(page.entries.length).toBeLessThanOrEqual(query.limit as number);
    found.push(...page.entries);
    cursor = page.next;
  } while (cursor !== undefined);
  return found;
}
