import { type TestAPI, test } from 'vitest';
import type { MakeJournalPlace, RemovableJournalPlace } from './describe-journal-contract.ts';
import { type JournalHome, openJournalHome } from './journal-home.ts';

export interface JournalFixtures {
  readonly place: RemovableJournalPlace;
  readonly home: JournalHome;
}

/** So small that bodies of both sorts are cheap to make. */
export const INLINE_BYTES = 256;

/** `test` with a place of its own and an open journal on it, both gone afterwards. */
export function journalTest(makePlace: MakeJournalPlace): TestAPI<JournalFixtures> {
  return test.extend<JournalFixtures>({
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads the parameter's text to learn what a fixture needs.
    place: async ({}, use) => {
      const place = await makePlace();
      await use(place);
      await place.remove();
    },
    home: async ({ place }, use) => {
      const home = await openJournalHome(place, { inlineBytes: INLINE_BYTES });
      await use(home);
      await home[Symbol.asyncDispose]();
    },
  });
}
