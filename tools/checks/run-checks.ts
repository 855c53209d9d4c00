import { SUITES } from '../suites.ts';
import { runSuites } from '../tests/run-suites.ts';
import { judge, type Tally } from '../tests/tally.ts';
import { runOnNode } from './run-command.ts';

export interface ChecksResult {
  /** Names of the checks that failed. */
  readonly failed: readonly string[];
  readonly tally: Tally;
}

interface Check {
  readonly name: string;
  readonly run: () => Promise<{ readonly ok: boolean; readonly detail: string; readonly output: string }>;
}

/** Together they keep two cores busy; the longest start first. */
const AT_ONCE = 3;

/** Runs every check, even after one failed: a line each as it ends, and all of the output of those that failed. */
export async function runChecks(): Promise<ChecksResult> {
  let tally: Tally = [];
  const tests: Check = {
    name: 'tests',
    async run() {
      const suites = SUITES.filter(({ runsIn }) => runsIn === 'check');
      const run = await runSuites({ suites, show: 'captured' });
      tally = run.tally;
      const { failures, line } = judge(tally);
      return { ok: failures.length === 0, detail: line, output: [run.output, ...failures].join('\n') };
    },
  };
  const queue = [tests, ...TOOLS.map(toolCheck)];
  const failed: string[] = [];
  const work = async () => {
    for (let check = queue.shift(); check !== undefined; check = queue.shift()) {
      if (!(await runAndTell(check))) failed.push(check.name);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { failed, tally };
}

// Biome colours for CI whatever it writes to.
const COLOUR = process.stdout.isTTY ? 'force' : 'off';

interface Tool {
  readonly name: string;
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Go programs that live for half a minute, up to a quarter of it collecting garbage: 0.5 to 0.8 GiB more each instead. */
const COLLECT_LATE = { GOGC: '400' };

const TOOLS: readonly Tool[] = [
  // Each of several checkers works out for itself what the others know, too.
  { name: 'tsc', argv: ['node_modules/typescript/bin/tsc', '-b', '--checkers', '1'], env: COLLECT_LATE },
  {
    name: 'oxlint',
    argv: ['node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings'],
    env: COLLECT_LATE,
  },
  { name: 'knip', argv: ['node_modules/knip/bin/knip.js', '--no-config-hints'] },
  { name: 'biome', argv: ['node_modules/@biomejs/biome/bin/biome', 'ci', '--error-on-warnings', `--colors=${COLOUR}`] },
];

function toolCheck({ name, argv, env = {} }: Tool): Check {
  return {
    name,
    async run() {
      const { exitCode, output } = await runOnNode({ argv, env, show: 'captured' });
      return { ok: exitCode === 0, detail: '', output };
    },
  };
}

async function runAndTell({ name, run }: Check): Promise<boolean> {
  const started = performance.now();
  const { ok, detail, output } = await run();
  const time = `${((performance.now() - started) / 1000).toFixed(1)} s`;
  console.log(`check  ${name.padEnd(7)} ${ok ? 'ok    ' : 'FAILED'} ${time.padStart(7)}  ${detail}`.trimEnd());
  if (!ok) console.log(`${output.trimEnd()}\n`);
  return ok;
}
