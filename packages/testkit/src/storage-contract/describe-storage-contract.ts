import { describe } from 'vitest';
import { describeErasing } from './describe-erasing.ts';
import { describeInspecting } from './describe-inspecting.ts';
import { describeMigrations } from './describe-migrations.ts';
import { describeNotifications } from './describe-notifications.ts';
import { describeReading } from './describe-reading.ts';
import { describeSeals } from './describe-seals.ts';
import { describeUnits } from './describe-units.ts';
import type { LedgerOptions } from './ledger-database.ts';

/** A fresh place for one test's database. */
export interface StoragePlace {
  readonly location: LedgerOptions['location'];
  /** Afterwards there is no database at the location. */
  remove(): Promise<void>;
  /** Instead of `remove`, where the next test can have it and none of this one's is left in it. */
  giveBack?(): Promise<void>;
}

export type MakePlace = () => Promise<StoragePlace>;

/** What every driver owes, whatever lies behind it. */
export function describeStorageContract(name: string, makePlace: MakePlace): void {
  describe(`storage contract: ${name}`, () => {
    describeUnits(makePlace);
    describeReading(makePlace);
    describeNotifications(makePlace);
    describeMigrations(makePlace);
    describeSeals(makePlace);
    describeErasing(makePlace);
    describeInspecting(makePlace);
  });
}
