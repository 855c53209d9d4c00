import { readFile } from 'node:fs/promises';
import { statement } from '@palyra/storage';
import { describe, expect } from 'vitest';
import type { MakePlace, StoragePlace } from './describe-storage-contract.ts';
import { type Ledger, openLedger } from './ledger-database.ts';
import { ledgerTest } from './ledger-test.ts';

const NOT_LOOKED_AT = 1;
const SECRET = 'a sentence that must be gone';

export function describeErasing(makePlace: MakePlace): void {
  const test = ledgerTest(makePlace);

  describe('erasing', () => {
    test.for([
      ['in a row among others', 1],
      ['over many pages', 3000],
    ] as const)(
      'of what was deleted or overwritten %s, no trace is left after a scrub',
      async ([, times], { ledger, place }) => {
        const { write } = ledger;
        for (const id of ['deleted', 'kept', 'overwritten']) {
          const text = id === 'kept' ? 'kept words' : SECRET.repeat(times);
          await ledger.commit({ steps: [statement(write.insertInto('specimens').values({ id, words: text }))] });
        }
        expect(await traces(place)).toBeGreaterThan(0);
        await ledger.commit({
          steps: [
            statement(write.deleteFrom('specimens').where('id', '=', 'deleted'), { rows: 1 }),
            statement(write.updateTable('specimens').set({ words: null }).where('id', '=', 'overwritten'), { rows: 1 }),
          ],
        });
        await ledger.scrub();
        // PostgreSQL promises no more than to vacuum; its files are not ours to look at.
        expect(await traces(place)).toBe(place.location.kind === 'sqlite' ? 0 : NOT_LOOKED_AT);
        expect(await words(ledger)).toEqual(['kept words', null]);
      },
    );

    test('a scrub beside readers and writers waits for them and harms none', async ({ ledger, place }) => {
      const other = await openLedger({ location: place.location });
      const put = (id: string) =>
        other.commit({ steps: [statement(other.write.insertInto('specimens').values({ id, words: 'x' }))] });
      await Promise.all(
        Array.from({ length: 30 }, (_, i) => [put(`${i}`), ledger.scrub(), words(ledger), words(other)]).flat(),
      );
      expect(await words(ledger)).toHaveLength(30);
      await other.close();
    });
  });
}

async function words(ledger: Ledger): Promise<readonly (string | null)[]> {
  const rows = await ledger.read.selectFrom('specimens').select('words').orderBy('id').execute();
  return rows.map((row) => row.words);
}

/** How often the secret stands in the raw bytes of the database's files. */
async function traces({ location }: StoragePlace): Promise<number> {
  if (location.kind !== 'sqlite') return NOT_LOOKED_AT;
  const files = await Promise.all(
    ['', '-wal'].map((suffix) => readFile(`${location.path}${suffix}`, 'latin1').catch(() => '')),
  );
  return files.reduce((sum, bytes) => sum + bytes.split(SECRET).length - 1, 0);
}
