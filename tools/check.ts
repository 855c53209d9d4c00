import { runChecks } from './checks/run-checks.ts';

const { failed } = await runChecks();
if (failed.length > 0) {
  console.error(`error[check.failed]: ${failed.join(', ')}`);
  console.error('fix: the output is above; `npm run format` fixes formatting and imports.');
  process.exitCode = 1;
}
