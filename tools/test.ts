import { availableParallelism } from 'node:os';
import { runChecks } from './checks/run-checks.ts';
import { SUITES } from './suites.ts';
import { closeWithCount } from './tests/close-with-count.ts';
import { runSuites } from './tests/run-suites.ts';

// All of it runs even when the checks fail: one run says everything there is to repair.
const checks = await runChecks();
const suites = SUITES.filter(({ runsIn }) => runsIn === 'test');
// Most of these wait for processes that they started: more of them than CPUs keep the CPUs busy. A number, because vitest
// takes no more than 100%.
const workers = String(Math.ceil(availableParallelism() * 1.5));
const { tally } = await runSuites({ suites, show: 'live', workers });

closeWithCount({
  tally: [...checks.tally, ...tally],
  failedChecks: checks.failed.filter((name) => name !== 'tests'),
});
