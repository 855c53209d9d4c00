// npm scripts start here, on the host's Node: sets up, then goes on with the task on the pinned Node.
// Plain JavaScript for Node 18 and up.
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { become } from '../apps/cli/bin/pinned-node.mjs';
import { pinnedNode } from './pinned-node.mjs';
import { createReport } from './setup/report.mjs';
import { setUp } from './setup.mjs';

/**
 * What each script runs, and which system packages (tools/system-packages.mjs) it cannot do without.
 * @type {Record<string, { run: string[], needs: import('./system-packages.mjs').SystemGroup[] }>}
 */
const TASKS = {
  check: { run: ['tools/check.ts'], needs: ['product', 'tests'] },
  test: { run: ['tools/test.ts'], needs: ['product', 'tests', 'agents'] },
  soak: { run: ['tools/soak.ts'], needs: ['product', 'tests'] },
  demo: { run: ['tools/demo.ts'], needs: ['product'] },
  bench: { run: ['bench/main.ts'], needs: ['product', 'bench'] },
  conformance: { run: ['tools/conformance.ts'], needs: ['product'] },
  build: { run: ['tools/build.ts'], needs: [] },
  docs: { run: ['tools/docs.ts'], needs: [] },
  replay: { run: ['tests/replay/print-replay.ts'], needs: ['product', 'tests'] },
  format: { run: ['node_modules/@biomejs/biome/bin/biome', 'check', '--write'], needs: [] },
};

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** @param {string[]} argv */
async function main([name = '', ...args]) {
  const task = TASKS[name];
  if (task === undefined)
    return refuse('run.unknown_task', `there is no task ${name}`, `one of: ${Object.keys(TASKS).join(', ')}`);
  // Standard output belongs to the task: `npm run -s bench -- x --json | jq` must work on the first run too.
  const report = createReport({ json: false, quiet: true, out: process.stderr });
  /** @type {string} */
  let node;
  try {
    await setUp({ groups: task.needs, report });
    node = pinnedNode(ROOT).path;
  } catch (error) {
    process.exitCode = report.fail(error);
    return;
  }
  const [program = '', ...fixed] = task.run;
  // As in apps/cli/bin/palyra.mjs: NODE_OPTIONS and NODE_PATH were meant for the host's Node, which has obeyed them; they
  // may not fit the pinned one, and would reach into every process a test or a benchmark starts.
  const { NODE_OPTIONS: _options, NODE_PATH: _path, ...env } = process.env;
  const path = [dirname(node), join(ROOT, 'node_modules/.bin'), process.env['PATH'] ?? ''].join(delimiter);
  process.chdir(ROOT);
  become(node, ['--conditions=palyra-source', program, ...fixed, ...args], { ...env, PATH: path });
}

/**
 * @param {string} code
 * @param {string} message
 * @param {string} fix
 */
function refuse(code, message, fix) {
  process.stderr.write(`error[${code}]: ${message}\nfix: ${fix}\n`);
  process.exitCode = 2;
}

await main(process.argv.slice(2));
