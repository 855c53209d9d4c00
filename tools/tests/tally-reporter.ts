import { writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import type { FailedTest, SkippedTest, SuiteTally } from './tally.ts';

/** The environment variable that says where the report goes. Tests inherit it, so it is not one of Palyra's. */
export const TALLY_FILE = 'VITEST_TALLY_FILE';

/** A vitest reporter: counts per project, as one JSON file. */
export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly { readonly message: string }[]): void {
    const file = process.env[TALLY_FILE];
    if (file === undefined) throw new Error(`${TALLY_FILE} is not set`);
    const byProject = Map.groupBy(modules, (module) => module.project.name);
    const tally = [...byProject].map(([suite, group]) => tallyOf(suite, group));
    const strays = unhandled.map(({ message }) => `unhandled error: ${message}`);
    const withStrays = strays.length === 0 ? tally : [...tally, { ...tallyOf('vitest', []), faults: strays }];
    writeFileSync(file, JSON.stringify(withStrays));
  }
}

function tallyOf(suite: string, modules: readonly TestModule[]): SuiteTally {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const inState = (state: string) => tests.filter((test) => test.result().state === state);
  return {
    suite,
    files: modules.length,
    passed: inState('passed').length,
    failed: inState('failed').map(failedTest),
    // `pending`: collected and never run, because the run ended early.
    skipped: [...inState('skipped'), ...inState('pending')].map(skippedTest),
    faults: modules.flatMap(faultsOf),
  };
}

/** Where the end of the output is all that is kept, it still says which one and why. */
function failedTest(test: TestCase): FailedTest {
  const [first] = stripVTControlCharacters(test.result().errors?.[0]?.message ?? 'no reason given').split('\n');
  return { name: nameOf(test), message: first ?? '' };
}

function skippedTest(test: TestCase): SkippedTest {
  const result = test.result();
  const note = result.state === 'skipped' ? result.note : 'the run ended before it';
  return { name: nameOf(test), reason: note ?? 'no reason given' };
}

function nameOf(test: TestCase): string {
  return `${test.module.relativeModuleId} > ${test.fullName}`;
}

/** Errors of the file and its hooks, which belong to no test. */
function faultsOf(module: TestModule): string[] {
  const suites = [...module.children.allSuites()];
  const errors = [...module.errors(), ...suites.flatMap((suite) => suite.errors())];
  return errors.map(({ message }) => `${module.relativeModuleId}: ${message}`);
}
