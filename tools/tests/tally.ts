/** What one vitest run did, per suite; written by the reporter, read by the runner. */
export type Tally = readonly SuiteTally[];

export interface SuiteTally {
  readonly suite: string;
  readonly files: number;
  readonly passed: number;
  readonly failed: readonly FailedTest[];
  readonly skipped: readonly SkippedTest[];
  /** What went wrong outside any test: a file that does not load, an unhandled rejection, a run without a report. */
  readonly faults: readonly string[];
}

export interface FailedTest {
  readonly name: string;
  /** The first line of what it met. */
  readonly message: string;
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

/** Where the tests run, as far as it excuses a skip. */
export interface TestHost {
  readonly platform: string;
  readonly isRoot: boolean;
}

const THIS_HOST: TestHost = { platform: process.platform, isRoot: process.geteuid?.() === 0 };

/**
 * A test may be skipped only where the host cannot have the feature, and its name says what it takes:
 * `[platform: darwin]`, or `[needs: root]` for what only root may do. Any other skip counts as failed, so that a missing
 * system part never looks like success.
 */
export function judge(tally: Tally, host: TestHost = THIS_HOST): Verdict {
  const allSkipped = tally.flatMap(({ skipped }) => skipped);
  const unlawful = allSkipped.filter((test) => !isExcused(test, host));
  const lawful = allSkipped.filter((test) => isExcused(test, host));
  const faults = tally.flatMap(({ suite, faults: each }) => each.map((fault) => `${suite}: ${fault}`));
  const idle = tally
    .filter(({ files, passed, failed, faults: each }) => files > 0 && passed + failed.length + each.length === 0)
    .map(({ suite, files }) => `${suite}: ${files} test files and not one test ran`);
  const failedTests = tally.flatMap(({ failed }) => failed);
  const failed = failedTests.length + faults.length + idle.length + unlawful.length;
  return {
    failures: [
      ...failedTests.map(({ name, message }) => `${name}: ${message}`),
      ...faults,
      ...idle,
      ...unlawful.map(({ name, reason }) => `skipped, though nothing in its name excuses it: ${name}: ${reason}`),
    ],
    skipped: lawful.map(({ name, reason }) => `${name}: ${reason}`),
    line: `tests: ${sum(tally.map(({ passed }) => passed))} passed, ${failed} failed, ${lawful.length} skipped`,
  };
}

const PLATFORMS: ReadonlySet<string> = new Set(['linux', 'darwin', 'win32']);

function isExcused({ name }: SkippedTest, { platform, isRoot }: TestHost): boolean {
  const platforms = /\[platform: ([^\]]+)\]/.exec(name)?.[1]?.split(/,\s*/) ?? [platform];
  // Only names of platforms excuse, and not this one's: a sentence would excuse anything anywhere.
  const isElsewhere = platforms.every((each) => PLATFORMS.has(each)) && !platforms.includes(platform);
  return isElsewhere || (!isRoot && name.includes('[needs: root]'));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
