/** What one vitest run did, per suite; written by the reporter, read by the runner. */
export type Tally = readonly SuiteTally[];

export interface SuiteTally {
  readonly suite: string;
  readonly files: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly SkippedTest[];
  /** What went wrong outside any test: a file that does not load, an unhandled rejection, a run without a report. */
  readonly faults: readonly string[];
}

export interface SkippedTest {
  readonly name: string;
  readonly reason: string;
}

export interface Verdict {
  /** Empty when everything that had to run did, and passed. */
  readonly failures: readonly string[];
  /** Tests that may be absent here, each as `name: reason`. */
  readonly skipped: readonly string[];
  /** `tests: N passed, N failed, N skipped` */
  readonly line: string;
}

/**
 * A test may be skipped only where the platform cannot have the feature, and its name says which can:
 * `[platform: darwin]`. Any other skip counts as failed, so that a missing system part never looks like success.
 */
export function judge(tally: Tally, platform: string = process.platform): Verdict {
  const allSkipped = tally.flatMap(({ skipped }) => skipped);
  const unlawful = allSkipped.filter((test) => !isForAnotherPlatform(test, platform));
  const lawful = allSkipped.filter((test) => isForAnotherPlatform(test, platform));
  const faults = tally.flatMap(({ suite, faults: each }) => each.map((fault) => `${suite}: ${fault}`));
  const idle = tally
    .filter(({ files, passed, failed, faults: each }) => files > 0 && passed + failed + each.length === 0)
    .map(({ suite, files }) => `${suite}: ${files} test files and not one test ran`);
  const failedTests = sum(tally.map(({ failed }) => failed));
  const failed = failedTests + faults.length + idle.length + unlawful.length;
  return {
    failures: [
      ...(failedTests > 0 ? [`${failedTests} tests failed`] : []),
      ...faults,
      ...idle,
      ...unlawful.map(
        ({ name, reason }) => `skipped, though no [platform: …] in its name excuses it: ${name}: ${reason}`,
      ),
    ],
    skipped: lawful.map(({ name, reason }) => `${name}: ${reason}`),
    line: `tests: ${sum(tally.map(({ passed }) => passed))} passed, ${failed} failed, ${lawful.length} skipped`,
  };
}

function isForAnotherPlatform({ name }: SkippedTest, platform: string): boolean {
  const needed = /\[platform: ([^\]]+)\]/.exec(name)?.[1];
  // `[platform: linux]` does not excuse a skip on Linux; `[platform: linux 6.12]` may.
  return needed !== undefined && !needed.split(/,\s*/).includes(platform);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
