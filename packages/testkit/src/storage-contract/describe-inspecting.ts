import { existsSync } from 'node:fs';
import { type DatabaseOptions, type Migration, openForReading, type ReadOnlyDatabase } from '@palyra/storage';
import type { Kysely } from 'kysely';
import { describe, expect } from 'vitest';
import type { MakePlace } from './describe-storage-contract.ts';
import { LEDGER_MIGRATIONS, type LedgerSchema } from './ledger.ts';
import { openLedger, putAccount } from './ledger-database.ts';
import { ledgerTest } from './ledger-test.ts';

const unknownHere: Migration = {
  id: 'stranger/0001-notes',
  statements: (t) => [`create table notes (id ${t.text} primary key)${t.strict}`],
};

export function describeInspecting(makePlace: MakePlace): void {
  const test = ledgerTest(makePlace);

  describe('opening what others made', () => {
    test('an inspector reads while a writer writes, and sees what was acknowledged', async ({ ledger, place }) => {
      await putAccount(ledger, 'before', 1);
      const inspector = await inspect(place.location);
      expect(await accounts(inspector)).toEqual(['before']);
      const writing = Promise.all(Array.from({ length: 50 }, (_, i) => putAccount(ledger, `during ${i}`, i)));
      await accounts(inspector);
      await writing;
      expect(await accounts(inspector)).toHaveLength(51);
      await inspector.close();
      await putAccount(ledger, 'afterwards', 1);
    });

    test('an inspector cannot write', async ({ ledger, place }) => {
      await putAccount(ledger, 'alice', 1);
      const inspector = await inspect(place.location);
      const sneaky = inspector.read as Kysely<LedgerSchema>;
      for (const query of [
        sneaky.insertInto('accounts').values({ id: 'eve', balance: 1 }),
        sneaky.deleteFrom('accounts'),
      ]) {
        await expect(query.execute()).rejects.toMatchObject({ code: 'storage.read_only' });
      }
      await inspector.close();
      expect(Object.keys(inspector).toSorted()).toEqual(['close', 'dialect', 'read']);
    });

    test('where nothing is, an inspector makes nothing', async ({ place }) => {
      await place.remove();
      const { location } = place;
      await expect(inspect(location)).rejects.toMatchObject({ code: 'storage.unavailable' });
      expect(wasMade(location)).toBe(false);
    });

    test('a database with migrations of others is opened as it is found, and written', async ({ place }) => {
      const made = await openLedger({ location: place.location, migrations: [...LEDGER_MIGRATIONS, unknownHere] });
      await made.close();
      await expect(openLedger({ location: place.location })).rejects.toMatchObject({ code: 'storage.newer_schema' });

      const tool = await openLedger({ location: place.location, migrations: 'as found' });
      await putAccount(tool, 'alice', 1);
      await tool.close();
      const again = await inspect(place.location);
      expect(await accounts(again)).toEqual(['alice']);
      await again.close();
    });

    test('as found, nothing is made where nothing is', async ({ place }) => {
      await place.remove();
      const { location } = place;
      await expect(openLedger({ location, migrations: 'as found' })).rejects.toMatchObject({
        code: 'storage.unavailable',
      });
      expect(wasMade(location)).toBe(false);
    });
  });
}

/** PostgreSQL makes no database because somebody asks for it. */
function wasMade(location: DatabaseOptions['location']): boolean {
  return location.kind === 'sqlite' && existsSync(location.path);
}

function inspect(location: DatabaseOptions['location']): Promise<ReadOnlyDatabase<LedgerSchema>> {
  return openForReading<LedgerSchema>({ location, lockTimeoutMs: 5_000 });
}

async function accounts({ read }: ReadOnlyDatabase<LedgerSchema>): Promise<readonly string[]> {
  const rows = await read.selectFrom('accounts').select('id').execute();
  return rows.map(({ id }) => id);
}
