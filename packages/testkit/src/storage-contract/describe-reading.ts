import { program, statement } from '@palyra/storage';
import fc from 'fast-check';
import type { Kysely } from 'kysely';
import { describe, expect } from 'vitest';
import type { MakePlace } from './describe-storage-contract.ts';
import type { LedgerSchema } from './ledger.ts';
import { type Ledger, putAccount } from './ledger-database.ts';
import { ledgerTest } from './ledger-test.ts';

type Specimen = Omit<LedgerSchema['specimens'], 'id'>;

export function describeReading(makePlace: MakePlace): void {
  const test = ledgerTest(makePlace);

  describe('values and reading', () => {
    test('what is stored comes back unchanged', async ({ ledger }) => {
      let next = 0;
      await fc.assert(
        fc.asyncProperty(anySpecimen(), async (specimen) => {
          // A whole number beyond 2^53 in a real column is the one value that the contract refuses.
          fc.pre(specimen.ratio === null || !Number.isInteger(specimen.ratio) || Number.isSafeInteger(specimen.ratio));
          const id = `specimen ${next++}`;
          await ledger.commit({
            steps: [statement(ledger.write.insertInto('specimens').values({ id, ...specimen }), { rows: 1 })],
          });
          const read = await ledger.read
            .selectFrom('specimens')
            .selectAll()
            .where('id', '=', id)
            .executeTakeFirstOrThrow();
          expect(read).toEqual({ id, ...specimen });
        }),
        { numRuns: 60 },
      );
    });

    test.for([
      ['text with a NUL character', 'a\0b'],
      ['text with a lone surrogate', 'a\ud800b'],
      ['an integer beyond 2^53 - 1', 2 ** 53],
      ['not a number', Number.NaN],
      ['infinity', Number.POSITIVE_INFINITY],
      ['a boolean', true],
      ['a bigint', 1n],
      ['a date', new Date(0)],
    ] as const)('%s is refused before it reaches the database', async ([, value], { ledger }) => {
      const build = () => statement(ledger.write.insertInto('specimens').values({ id: 'x', words: value as never }));
      expect(build).toThrow(expect.objectContaining({ code: 'storage.invalid_parameter' }));
      const query = ledger.read
        .selectFrom('specimens')
        .selectAll()
        .where('words', '=', value as never);
      await expect(query.execute()).rejects.toMatchObject({ code: 'storage.invalid_parameter' });
    });

    test('a program input that cannot travel fails alone', async ({ ledger }) => {
      const [failed, fine] = await Promise.allSettled([
        ledger.commit({ steps: [program('ledger.append', { body: () => 'a function' })] }),
        putAccount(ledger, 'alice', 1),
      ]);
      expect([failed.status, fine.status]).toEqual(['rejected', 'fulfilled']);
    });

    test('a value that does not fit its column is a violated constraint', async ({ ledger }) => {
      const insert = ledger.write.insertInto('specimens').values({ id: 'x', count: 1.5 });
      await expect(ledger.commit({ steps: [statement(insert)] })).rejects.toMatchObject({
        code: 'storage.constraint_violated',
      });
    });

    test('a unit takes only statements that change rows', async ({ ledger }) => {
      expect(() => statement(ledger.read.selectFrom('accounts').selectAll())).toThrow(
        expect.objectContaining({ code: 'storage.invalid_statement' }),
      );
    });

    test('a write cannot be executed directly, nor through the reading side', async ({ ledger }) => {
      const account = { id: 'eve', balance: 1 };
      await expect(ledger.write.insertInto('accounts').values(account).execute()).rejects.toMatchObject({
        code: 'storage.write_outside_unit',
      });
      const sneaky = ledger.read as Kysely<LedgerSchema>;
      await expect(sneaky.insertInto('accounts').values(account).execute()).rejects.toMatchObject({
        code: 'storage.read_only',
      });
      await expect(sneaky.transaction().execute(() => Promise.resolve())).rejects.toMatchObject({
        code: 'storage.invalid_statement',
      });
      expect(await countAccounts(ledger)).toBe(0);
    });

    test('a broken query is a typed error and the next one works', async ({ ledger }) => {
      const broken = (ledger.read as Kysely<never>).selectFrom('no_such_table' as never).selectAll();
      await expect(broken.execute()).rejects.toMatchObject({ code: 'storage.invalid_statement' });
      expect(await countAccounts(ledger)).toBe(0);
    });
  });
}

async function countAccounts(ledger: Ledger): Promise<number> {
  const row = await ledger.read
    .selectFrom('accounts')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return row.count;
}

/** Made when it is asked for: fast-check takes a second for all of Unicode, and every file of tests loads this one. */
function anySpecimen(): fc.Arbitrary<Specimen> {
  const storableText = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', ''));
  return fc.record({
    words: fc.option(storableText),
    count: fc.option(fc.maxSafeInteger()),
    ratio: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0))),
    bytes: fc.option(fc.uint8Array()),
  });
}
