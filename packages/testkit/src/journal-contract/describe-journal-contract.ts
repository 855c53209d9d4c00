import { describe } from 'vitest';
import { describeAppending } from './describe-appending.ts';
import { describeAttesting } from './describe-attesting.ts';
import { describeBodies } from './describe-bodies.ts';
import { describeEarlierLayout } from './describe-earlier-layout.ts';
import { describeKeys } from './describe-keys.ts';
import { describeQueries } from './describe-queries.ts';
import { describeTail } from './describe-tail.ts';
import type { JournalPlace } from './journal-home.ts';

/** A fresh place for one test's journal. */
export interface RemovableJournalPlace extends JournalPlace {
  remove(): Promise<void>;
}

export type MakeJournalPlace = () => Promise<RemovableJournalPlace>;

/** What a journal owes, whatever database lies behind it. */
export function describeJournalContract(name: string, makePlace: MakeJournalPlace): void {
  describe(`journal contract: ${name}`, () => {
    describeAppending(makePlace);
    describeBodies(makePlace);
    describeAttesting(makePlace);
    describeQueries(makePlace);
    describeTail(makePlace);
    describeKeys(makePlace);
    describeEarlierLayout(makePlace);
  });
}
