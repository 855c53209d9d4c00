import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

/**
 * Files that take half a minute and more: begun last, each would keep one CPU busy while the others have nothing left to
 * do. A clean checkout has no times of earlier runs to go by, and the contract suites are files of a few lines.
 */
const LONG =
  /(?:journal-cli|release|everyday|contract|crash|setup|standalone|explain|fuzz|T-14-file|T-15-protected|T-17|T-44-protection|T-53)[^/]*\.test\.ts$/;

/** vitest takes a class. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- not an array: the sequencer.
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONG.test(moduleId);
    return [...bySuite(sorted.filter(isLong)), ...bySuite(sorted.filter((file) => !isLong(file)))];
  }
}

/** A worker goes on with what it has loaded while the next file is of the same suite. */
function bySuite(files: readonly TestSpecification[]): TestSpecification[] {
  return Object.values(Object.groupBy(files, ({ project }) => project.name)).flatMap((suite = []) => suite);
}
