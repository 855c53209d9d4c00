import type { Migration } from '@palyra/storage';
import { describe, expect } from 'vitest';
import type { MakePlace } from './describe-storage-contract.ts';
import { LEDGER_MIGRATIONS } from './ledger.ts';
import { balanceOf, openLedger, putAccount } from './ledger-database.ts';
import { ledgerTest } from './ledger-test.ts';

const third: Migration = {
  id: 'ledger/0003-notes',
  statements: (t) => [`create table notes (id ${t.text} primary key)${t.strict}`],
};

export function describeMigrations(makePlace: MakePlace): void {
  const test = ledgerTest(makePlace);

  describe('migrations', () => {
    test('opening again applies only what is new and keeps the rows', async ({ ledger, place }) => {
      await putAccount(ledger, 'alice', 3);
      const newer = await openLedger({ location: place.location, migrations: [...LEDGER_MIGRATIONS, third] });
      expect(await balanceOf(newer, 'alice')).toBe(3);
      await newer.close();
    });

    test('several programs may open a new database at the same moment', async ({ place }) => {
      const ledgers = await Promise.all(Array.from({ length: 4 }, () => openLedger({ location: place.location })));
      await Promise.all(ledgers.map((ledger, i) => putAccount(ledger, `account ${i}`, i)));
      await Promise.all(ledgers.map((ledger) => ledger.close()));
    });

    test('a database of a newer program is refused', async ({ place }) => {
      const newer = await openLedger({ location: place.location, migrations: [...LEDGER_MIGRATIONS, third] });
      await newer.close();
      await expect(openLedger({ location: place.location })).rejects.toMatchObject({
        code: 'storage.newer_schema',
        message: 'The database holds migration ledger/0003-notes, which this program does not know.',
        fix: expect.any(String),
      });
    });

    test('an edited old migration is refused', async ({ ledger, place }) => {
      await ledger.close();
      const edited = LEDGER_MIGRATIONS.map((migration) => ({
        id: migration.id,
        statements: (t: Parameters<Migration['statements']>[0]) => [...migration.statements(t), 'select 1'],
      }));
      await expect(openLedger({ location: place.location, migrations: edited })).rejects.toMatchObject({
        code: 'storage.migration_edited',
      });
    });

    test('a migration that fails half way leaves nothing behind', async ({ place }) => {
      const broken: Migration = { ...third, statements: (t) => [...third.statements(t), 'create table broken (oops'] };
      const migrations = [...LEDGER_MIGRATIONS, broken];
      await expect(openLedger({ location: place.location, migrations })).rejects.toMatchObject({
        code: 'storage.invalid_statement',
      });
      const mended = await openLedger({ location: place.location, migrations: [...LEDGER_MIGRATIONS, third] });
      await putAccount(mended, 'alice', 1);
      await mended.close();
    });

    test('a list with a hole, a repetition or a malformed id is refused', async ({ place }) => {
      const [first, second] = LEDGER_MIGRATIONS as [Migration, Migration];
      for (const migrations of [[first, third], [first, first], [second, first], [{ ...first, id: 'Ledger 1' }]]) {
        await expect(openLedger({ location: place.location, migrations })).rejects.toMatchObject({
          code: 'storage.invalid_migration',
        });
      }
    });
  });
}
