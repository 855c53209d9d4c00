import { SOAK_VARIABLE, SUITES } from './suites.ts';
import { closeWithCount } from './tests/close-with-count.ts';
import { runSuites } from './tests/run-suites.ts';

const { tally } = await runSuites({
  suites: SUITES,
  show: 'live',
  only: '.soak.test.ts',
  env: { [SOAK_VARIABLE]: '1' },
});

closeWithCount({ tally, failedChecks: [] });
