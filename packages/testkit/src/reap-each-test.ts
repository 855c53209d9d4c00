import { expect } from 'vitest';
import { reapAfterEachTest } from './reaper.ts';

/** Vitest `setupFiles`: every test of a suite is watched. The testkit's own tests start reapers themselves. */
if (!expect.getState().testPath?.includes('/packages/testkit/')) reapAfterEachTest();
