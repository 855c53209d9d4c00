import type { Decider } from '@palyra/approvals';
import { type TestAPI, test } from 'vitest';
import { createFakeClock, type FakeClock } from '../fake-clock.ts';
import { createFakeCredentials, type FakeCredentials } from '../fake-credentials.ts';
import { type ApprovalsHome, openApprovalsHome } from './approvals-home.ts';
import type { ApprovalsPlace, MakeApprovalsPlace } from './describe-approvals-contract.ts';

export interface ApprovalsFixtures {
  readonly place: ApprovalsPlace;
  readonly clock: FakeClock;
  readonly credentials: FakeCredentials;
  readonly ada: Decider;
  readonly bob: Decider;
  readonly home: ApprovalsHome;
}

/** `test` with approvals on a database of their own, two people who may decide, and a clock that stands still. */
export function approvalsTest(makePlace: MakeApprovalsPlace): TestAPI<ApprovalsFixtures> {
  return test.extend<ApprovalsFixtures>({
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads the parameter's text to learn what a fixture needs.
    place: async ({}, use) => {
      const place = await makePlace();
      await use(place);
      await place.remove();
    },
    // biome-ignore lint/correctness/noEmptyPattern: as above.
    clock: async ({}, use) => use(createFakeClock()),
    // biome-ignore lint/correctness/noEmptyPattern: as above.
    credentials: async ({}, use) => use(createFakeCredentials()),
    ada: async ({ credentials }, use) => use(credentials.issue('ada laptop', { person: 'ada', device: 'laptop' })),
    bob: async ({ credentials }, use) => use(credentials.issue('bob phone', { person: 'bob', device: 'phone' })),
    home: async ({ place, clock, credentials }, use) => {
      const home = await openApprovalsHome(place.location, { clock, credentials });
      await use(home);
      await home[Symbol.asyncDispose]();
    },
  });
}
