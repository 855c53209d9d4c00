import { beforeEach } from 'vitest';
import { startReaper } from './reaper.ts';

/** Vitest `setupFiles`: every test of a suite is watched, except the testkit's own, which start reapers themselves. */
beforeEach(async ({ task, onTestFinished }) => {
  if (task.file.filepath.includes('/packages/testkit/')) return;
  const reaper = await startReaper();
  // Last of all, after other hooks and fixtures have cleaned up.
  onTestFinished(() => reaper.finish());
});
