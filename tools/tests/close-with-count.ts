import { judge, type Tally } from './tally.ts';

export interface Closing {
  readonly tally: Tally;
  /** Checks other than tests that failed. */
  readonly failedChecks: readonly string[];
}

/** Prints what each suite did, what was skipped and why, and as the last line the count. Sets the exit code. */
export function closeWithCount({ tally, failedChecks }: Closing): void {
  const { failures, skipped, line } = judge(tally);
  for (const { suite, files, passed, failed } of tally) {
    console.log(`suite  ${suite.padEnd(13)} ${files} files, ${passed} passed, ${failed.length} failed`);
  }
  for (const each of skipped) console.log(`skipped  ${each}`);
  const problems = [...failedChecks.map((check) => `check ${check} failed`), ...failures];
  for (const problem of problems) console.log(`error[test.failed]: ${problem}`);
  console.log(line);
  if (problems.length > 0) process.exitCode = 1;
}
