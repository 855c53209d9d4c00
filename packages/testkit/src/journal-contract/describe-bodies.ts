import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Body, Journal } from '@palyra/journal';
import { describe, expect } from 'vitest';
import { journalFaults } from './check-journal.ts';
import type { MakeJournalPlace } from './describe-journal-contract.ts';
import { bodyDirectoryOf, type JournalPlace, openJournalHome } from './journal-home.ts';
import { INLINE_BYTES, journalTest } from './journal-test.ts';
import { createSampleCalls, SAMPLE_ACTOR, SAMPLE_SNAPSHOT } from './sample-calls.ts';

const SMALL = 'a short question';
const LARGE = 'a long answer, '.repeat(INLINE_BYTES);
const calls = createSampleCalls();

export function describeBodies(makePlace: MakeJournalPlace): void {
  const test = journalTest(makePlace);

  describe('bodies and snapshots', () => {
    test('small bodies are in their rows, large ones in files, and both are read back', async ({ home, place }) => {
      const [small, large] = [await record(home.journal, SMALL), await record(home.journal, LARGE)];
      expect([small.content === 'file', large.content === 'file']).toEqual([false, true]);
      expect(await bodyFiles(place)).toEqual([large.commitment]);
      for (const [body, text] of [
        [small, SMALL],
        [large, LARGE],
      ] as const) {
        const read = await home.journal.bodies.read(body.commitment);
        expect([Buffer.from(read.bytes).toString(), read.totalBytes]).toEqual([text, text.length]);
      }
      expect(await journalFaults(place)).toEqual([]);
    });

    test('where nodes share no disk, every body is in its row', async ({ home, place }) => {
      await using diskless = await openJournalHome(place, { bodyDirectory: undefined, inlineBytes: INLINE_BYTES });
      const { commitment } = await record(diskless.journal, LARGE);
      expect(await bodyFiles(place)).toEqual([]);
      expect(Buffer.from((await home.journal.bodies.read(commitment)).bytes).toString()).toBe(LARGE);
    });

    test('what is over the cap is cut and counted, and is no fault', async ({ place }) => {
      await using home = await openJournalHome(place, { inlineBytes: INLINE_BYTES, maxBytes: 1000 });
      const { commitment } = await record(home.journal, LARGE);
      const read = await home.journal.bodies.read(commitment);
      expect([read.bytes.length, read.totalBytes]).toEqual([1000, LARGE.length]);
      expect(await journalFaults(place)).toEqual([]);
    });

    test.for([
      ['in a row', SMALL],
      ['in a file', LARGE],
    ] as const)(
      'a body %s is erased: it is gone, its commitment and the record of it stay',
      async ([, text], { home, place }) => {
        const { journal, database } = home;
        const [erased, kept] = [await record(journal, text), await record(journal, text)];
        await journal.erase(SAMPLE_ACTOR, erased.commitment, 'request');

        await expect(journal.bodies.read(erased.commitment)).rejects.toMatchObject({ code: 'journal.body_erased' });
        expect(Buffer.from((await journal.bodies.read(kept.commitment)).bytes).toString()).toBe(text);
        expect(await bodyFiles(place)).toEqual(text === LARGE ? [kept.commitment] : []);
        const row = database.read.selectFrom('journal_bodies').select(['salt', 'body', 'place']);
        expect(await row.where('commitment', '=', erased.commitment).execute()).toEqual([
          { salt: null, body: null, place: 'erased' },
        ]);
        const { entries } = await journal.query({ kinds: ['body.erased', 'proposal'] });
        expect(entries.map(({ kind, actor, data }) => ({ kind, actor, data }))).toMatchObject([
          { kind: 'proposal', data: { input: erased.commitment } },
          { kind: 'proposal', data: { input: kept.commitment } },
          { kind: 'body.erased', actor: SAMPLE_ACTOR, data: { body: erased.commitment, reason: 'request' } },
        ]);
        expect(await journalFaults(place)).toEqual([]);
        await expect(journal.erase(SAMPLE_ACTOR, erased.commitment, 'request')).rejects.toMatchObject({
          code: 'journal.body_erased',
        });
      },
    );

    test('of many who erase one body, one entry says so', async ({ home: { journal }, place }) => {
      const { commitment } = await record(journal, LARGE);
      const outcomes = await Promise.allSettled(
        Array.from({ length: 5 }, () => journal.erase(SAMPLE_ACTOR, commitment, 'operator')),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect((await journal.query({ kinds: ['body.erased'] })).entries).toHaveLength(1);
      expect(await journalFaults(place)).toEqual([]);
    });

    test('what never was cannot be read or erased', async ({ home: { journal } }) => {
      const nothing = { code: 'journal.not_found' };
      await expect(journal.bodies.read('0'.repeat(64))).rejects.toMatchObject(nothing);
      await expect(journal.erase(SAMPLE_ACTOR, '0'.repeat(64), 'request')).rejects.toMatchObject(nothing);
      await expect(journal.snapshot('0'.repeat(64))).rejects.toMatchObject(nothing);
    });

    test('a policy snapshot is stored once, whoever puts it, and comes back by its digest', async ({ home, place }) => {
      await using other = await openJournalHome(place);
      const digests = await Promise.all([home, other, home].map(({ journal }) => journal.putSnapshot(SAMPLE_SNAPSHOT)));
      expect(new Set(digests).size).toBe(1);
      expect(await other.journal.snapshot(digests[0] as string)).toEqual(SAMPLE_SNAPSHOT);
      expect(await home.database.read.selectFrom('journal_snapshots').select('digest').execute()).toHaveLength(1);
      const twisted = { ...SAMPLE_SNAPSHOT, preset: 'no such name' };
      await expect(home.journal.putSnapshot(twisted)).rejects.toMatchObject({ code: 'journal.invalid_snapshot' });
    });
  });
}

async function record(journal: Journal, text: string): Promise<Body> {
  const input = await journal.bodies.prepare(text);
  await journal.append(SAMPLE_ACTOR, [{ kind: 'proposal', data: { ...calls.call(), input } }]);
  return input;
}

async function bodyFiles(place: JournalPlace): Promise<readonly string[]> {
  const found = await readdir(bodyDirectoryOf(place), { recursive: true, withFileTypes: true }).catch(() => []);
  return found
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).split('/').at(-1) as string);
}
