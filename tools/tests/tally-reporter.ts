import { writeFileSync } from 'node:fs';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import type { SuiteTally } from './tally.ts';

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
    failed: inState('failed').length,
    // `pending`: collected and never run, because the run ended early.
    skipped: [...inState('skipped'), ...inState('pending')].map(skippedTest),
    faults: modules.flatMap(faultsOf),
  };
}

function skippedTest(test: TestCase) {
  const result = test.result();
  const note = result.state === 'skipped' ? result.note : 'the run ended before it';
  return { name: `${test.module.relativeModuleId} > ${test.fullName}`, reason: note ?? 'no reason given' };
}

/** Errors of the file and its hooks, which belong to no test. */
function faultsOf(module: TestModule): string[] {
  const suites = [...module.children.allSuites()];
  const errors = [...module.errors(), ...suites.flatMap((suite) => suite.errors())];
  return errors.map(({ message }) => `${module.relativeModuleId}: ${message}`);
}
