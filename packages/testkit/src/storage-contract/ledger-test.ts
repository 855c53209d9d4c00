import { type TestAPI, test } from 'vitest';
import type { MakePlace, StoragePlace } from './describe-storage-contract.ts';
import { type Ledger, openLedger } from './ledger-database.ts';

export interface LedgerFixtures {
  readonly place: StoragePlace;
  readonly ledger: Ledger;
}

/** `test` with a place of its own and an open database on it, both gone afterwards. */
export function ledgerTest(makePlace: MakePlace): TestAPI<LedgerFixtures> {
  return test.extend<LedgerFixtures>({
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads the parameter's text to learn what a fixture needs.
    place: async ({}, use) => {
      const place = await makePlace();
      await use(place);
      await (place.giveBack ?? place.remove)();
    },
    ledger: async ({ place }, use) => {
      const ledger = await openLedger({ location: place.location });
      await use(ledger);
      await ledger.close();
    },
  });
}
