import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runOnNode } from '../checks/run-command.ts';
import type { Suite } from '../suites.ts';
import type { SuiteTally, Tally } from './tally.ts';
import { TALLY_FILE } from './tally-reporter.ts';

export interface SuitesRun {
  readonly suites: readonly Suite[];
  readonly show: 'live' | 'captured';
  /** Only files whose path contains this. */
  readonly only?: string;
  /** As vitest counts them; as many as there are CPUs unless told. */
  readonly workers?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Tests start hundreds of threads and processes from source; stripping its types anew takes most of their time. */
const COMPILE_CACHE = resolve('.cache/compiled');

/** One vitest process for several suites. A failure is in the tally, never thrown. */
export async function runSuites({ suites, show, only, workers, env = {} }: SuitesRun) {
  const present = suites.filter((suite) => filesOf(suite, only).length > 0);
  if (present.length === 0) return { tally: [], output: '' };
  const folder = mkdtempSync(join(tmpdir(), 'palyra-tally-'));
  const report = join(folder, 'tally.json');
  // On exit too: a signal ends the process without coming back here.
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const { exitCode, output } = await runOnNode({
      argv: [
        'node_modules/vitest/vitest.mjs',
        'run',
        ...(only === undefined ? [] : [only]),
        ...present.map(({ name }) => `--project=${name}`),
        ...(workers === undefined ? [] : [`--maxWorkers=${workers}`]),
        '--reporter=default',
        '--reporter=./tools/tests/tally-reporter.ts',
      ],
      env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...env, [TALLY_FILE]: report },
      show,
    });
    return { tally: complete({ tally: readTally(report), present, only, exitCode }), output };
  } finally {
    process.off('exit', remove);
    remove();
  }
}

function filesOf({ include, exclude = [] }: Suite, only = ''): string[] {
  const left = new Set(exclude);
  return globSync([...include]).filter((file) => file.includes(only) && !left.has(file));
}

function readTally(file: string): Tally {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Tally;
  } catch {
    return [];
  }
}

interface Finished {
  readonly tally: Tally;
  readonly present: readonly Suite[];
  readonly only: string | undefined;
  readonly exitCode: number;
}

/** Every suite that has files is in the result, with the files that are there rather than those vitest noticed. */
function complete({ tally, present, only, exitCode }: Finished): Tally {
  const whole = present.map((suite): SuiteTally => {
    const found = tally.find((each) => each.suite === suite.name);
    const nothing = { suite: suite.name, passed: 0, failed: [], skipped: [], faults: [] };
    return { ...nothing, ...found, files: filesOf(suite, only).length };
  });
  const strays = tally.filter(({ suite }) => !present.some(({ name }) => name === suite));
  const all = [...whole, ...strays];
  const isExplained = all.some(({ failed, faults }) => failed.length + faults.length > 0);
  if (exitCode === 0 || isExplained) return all;
  return [
    ...all,
    { suite: 'vitest', files: 0, passed: 0, failed: [], skipped: [], faults: [`ended with ${exitCode}`] },
  ];
}
