import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { removeOrdinaryUser, runAsOrdinaryUser } from '@palyra/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CheckoutCopy, copyCheckout } from './checkout-copy.ts';
import { HOST_PATH, runOnHost } from './host.ts';

interface SetupDocument {
  readonly ok: boolean;
  readonly steps: readonly {
    readonly name: string;
    readonly status: string;
    readonly detail: string;
    readonly ms: number;
  }[];
  readonly ms: number;
}

/** As for `npm test`, but for the agents, which take half a gigabyte: what only benchmarks need may be missing here. */
const SETUP = ['node', 'tools/setup.mjs', '--groups=product,tests'] as const;

function parse(stdout: string): SetupDocument {
  return JSON.parse(stdout) as SetupDocument;
}

function statuses(stdout: string): string[] {
  return parse(stdout).steps.map(({ name, status }) => `${name}: ${status}`);
}

const ALL_READY = [
  'npm dependencies: ready',
  'system packages: ready',
  'launcher: ready',
  'query builder: ready',
  'bundled programs: ready',
  'compiled sources: ready',
  'agents: ready',
];

afterAll(removeOrdinaryUser);

describe('on a checkout that is set up', () => {
  let copy: CheckoutCopy;
  beforeAll(async () => {
    copy = await copyCheckout('installed');
  });
  afterAll(() => copy.remove());

  it('does nothing, and says so in one JSON document', async () => {
    const { exitCode, stdout, stderr } = await runOnHost({ argv: [...SETUP, '--json'], cwd: copy.path });
    expect({ exitCode, stderr, statuses: statuses(stdout) }).toEqual({ exitCode: 0, stderr: '', statuses: ALL_READY });
    expect(Object.keys(parse(stdout))).toEqual(['ok', 'steps', 'ms']);
    expect(parse(stdout).steps.every(({ ms, detail }) => Number.isInteger(ms) && detail !== '')).toBe(true);
    console.log(`a set-up with nothing to do: ${parse(stdout).ms} ms`);
  });

  it('needs no network', async () => {
    const { exitCode, stdout } = await runOnHost({ argv: [...SETUP, '--json'], cwd: copy.path, network: 'none' });
    expect({ exitCode, statuses: statuses(stdout) }).toEqual({ exitCode: 0, statuses: ALL_READY });
  });

  it('prints one line a step for people', async () => {
    const { stdout } = await runOnHost({ argv: [...SETUP], cwd: copy.path });
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^setup {2}npm dependencies {2}ready {3}\d\.\d\d s {2}Node 24\./),
      expect.stringMatching(/^setup {2}system packages {3}ready {3}\d\.\d\d s {2}product, tests$/),
      expect.stringMatching(/^setup {2}launcher {10}ready {3}\d\.\d\d s {2}compiled, static$/),
      expect.stringMatching(/^setup {2}query builder {5}ready {3}\d\.\d\d s {2}one file$/),
      expect.stringMatching(/^setup {2}bundled programs {2}ready +[\d.]+ s {2}of these sources$/),
      expect.stringMatching(/^setup {2}compiled sources {2}ready {3}\d\.\d\d s {2}kept from earlier commands$/),
      expect.stringMatching(/^setup {2}agents {12}ready {3}\d\.\d\d s {2}none asked for$/),
      '',
    ]);
  });

  it('refuses with the one command to run when packages are missing and this user may not install them', async () => {
    // No folder with programs: everything that is looked up in PATH is missing, sudo too.
    const node = join(copy.path, 'node_modules/.bin/node');
    const argv = ['/usr/bin/env', '-i', 'PATH=/nonexistent', node, join(copy.path, 'tools/setup.mjs')] as const;
    const plain = await runAsOrdinaryUser({ argv });
    const command =
      "sudo sh -c 'apt-get update && apt-get install -y --no-install-recommends bubblewrap gcc git curl python3";
    expect({ exitCode: plain.exitCode, lines: plain.stderr.trim().split('\n') }).toEqual({
      exitCode: 3,
      lines: [
        expect.stringMatching(
          /^error\[setup\.may_not_install\]: missing: bubblewrap \(Tier C .*may not install packages$/,
        ),
        expect.stringContaining(`fix: run: ${command}`),
      ],
    });

    const json = await runAsOrdinaryUser({ argv: [...argv, '--json'] });
    expect({ exitCode: json.exitCode, stderr: json.stderr, answer: JSON.parse(json.stdout) }).toMatchObject({
      exitCode: 3,
      stderr: '',
      answer: { ok: false, error: { code: 'setup.may_not_install', fix: expect.stringContaining(command) } },
    });
  });

  it('runs a task without the NODE_OPTIONS and NODE_PATH that were meant for the host’s Node', async () => {
    writeFileSync(
      join(copy.path, 'tools/docs.ts'),
      "console.log(process.env['NODE_OPTIONS'] ?? 'none', process.env['NODE_PATH'] ?? 'none', process.title);",
    );
    const env = { NODE_OPTIONS: '--title=not-for-us', NODE_PATH: '/tmp' };
    const { stdout } = await runOnHost({ argv: ['node', 'tools/run.mjs', 'docs'], cwd: copy.path, env });
    expect(stdout).toMatch(/^none none (?!not-for-us)/);
  });

  it('is not ready when a package is gone, and not done when npm does not bring it back', async () => {
    mkdirSync(join(copy.path, '.cache'), { recursive: true });
    writeFileSync(join(copy.path, '.cache/npm.cjs'), '');
    const env = { npm_execpath: join(copy.path, '.cache/npm.cjs') };
    const run = (argv: readonly [string, ...string[]] = SETUP) =>
      runOnHost({ argv: [...argv, '--json'], cwd: copy.path, env });
    const agents = await run(['node', 'tools/setup.mjs', '--groups=agents']);
    expect({ exitCode: agents.exitCode, answer: JSON.parse(agents.stdout) }).toMatchObject({
      exitCode: 1,
      answer: { error: { code: 'setup.npm_incomplete', message: expect.stringContaining('@openai/codex') } },
    });
    rmSync(join(copy.path, 'node_modules/kysely'), { recursive: true });
    rmSync(join(copy.path, 'node_modules/zod'), { recursive: true });
    for (const { exitCode, stdout } of [await run(), await run()]) {
      expect({ exitCode, answer: JSON.parse(stdout) }).toMatchObject({
        exitCode: 1,
        answer: {
          ok: false,
          error: { code: 'setup.npm_incomplete', message: expect.stringContaining('did not install kysely, zod;') },
        },
      });
    }
  });

  it('refuses an unknown option', async () => {
    const { exitCode, stderr } = await runOnHost({ argv: [...SETUP, '--quick'], cwd: copy.path });
    expect({ exitCode, first: stderr.split('\n')[0] }).toEqual({
      exitCode: 2,
      first: 'error[setup.bad_usage]: unknown option --quick',
    });
  });
});

// What a CI job or a container image has set for another program: each made npm leave out a part of the tree.
const HOSTILE = {
  NODE_ENV: 'production',
  npm_config_omit: 'optional',
  npm_config_dry_run: 'true',
  npm_config_package_lock_only: 'true',
  npm_config_global: 'true',
};

describe('on a fresh clone', () => {
  let copy: CheckoutCopy;
  beforeAll(async () => {
    copy = await copyCheckout('fresh');
  });
  afterAll(() => copy.remove());

  it('installs the whole tree whatever npm is told, once for two set-ups, and leaves the lockfile as it was', async () => {
    const lockfile = () =>
      createHash('sha256')
        .update(readFileSync(join(copy.path, 'package-lock.json')))
        .digest('hex');
    const before = lockfile();
    const run = () => runOnHost({ argv: [...SETUP, '--json'], cwd: copy.path, env: HOSTILE });
    const both = await Promise.all([run(), run()]);
    expect(both.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    const outcomes = both.map(({ stdout }) => statuses(stdout)[0]);
    expect(new Set(outcomes)).toEqual(new Set(['npm dependencies: done', 'npm dependencies: ready']));
    expect(both.map(({ stderr }) => stderr).join('')).not.toContain('EBADENGINE');
    expect(lockfile()).toBe(before);
    expect(['vitest', 'zod'].filter((name) => !existsSync(join(copy.path, 'node_modules', name)))).toEqual([]);
    expect(statuses((await run()).stdout)).toEqual(ALL_READY);
    expect(existsSync(join(copy.path, '.cache/setup/lock'))).toBe(false);
    // So that the first command somebody types need not compile a daemon.
    expect(readdirSync(join(copy.path, '.cache/compiled'))).not.toEqual([]);
  });
});

describe('when npm does not come to its end', () => {
  let copy: CheckoutCopy;
  beforeAll(async () => {
    copy = await copyCheckout('fresh');
    mkdirSync(join(copy.path, '.cache'));
  });
  afterAll(() => copy.remove());

  /** Stands in for npm, which would take its time. */
  function fakeNpm(source: string): Record<string, string> {
    const file = join(copy.path, '.cache/npm.cjs');
    writeFileSync(file, source);
    return { npm_execpath: file };
  }

  it('shows the last lines and where the rest is, without the warnings about the host', async () => {
    const env = fakeNpm(
      "console.error('npm warn EBADENGINE x'); console.error('npm error no such version'); process.exit(1);",
    );
    const { exitCode, stderr } = await runOnHost({ argv: [...SETUP], cwd: copy.path, env });
    expect({ exitCode, lines: stderr.trim().split('\n') }).toEqual({
      exitCode: 1,
      lines: [
        expect.stringMatching(/^\$ .*npm\.cjs install /),
        'npm error no such version',
        expect.stringMatching(/^error\[setup\.npm_failed\]: .*\.cache\/setup\/npm-dependencies\.log$/),
        expect.stringMatching(/^fix: /),
      ],
    });
  });

  it('ends npm on a signal, gives the lock back and reports it', async () => {
    const env = fakeNpm(
      "require('node:fs').writeFileSync('.cache/npm.pid', String(process.pid)); setInterval(() => {}, 1000);",
    );
    const setup = spawn('node', ['tools/setup.mjs'], {
      cwd: copy.path,
      env: { ...env, PATH: HOST_PATH },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = Promise.all([text(setup.stderr), buffer(setup.stdout), once(setup, 'close')]);
    const pidFile = join(copy.path, '.cache/npm.pid');
    await expect
      .poll(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8') !== '', { timeout: 20_000 })
      .toBe(true);
    setup.kill('SIGINT');
    const [stderr, , [exitCode]] = await ended;
    expect({ exitCode, stderr }).toEqual({
      exitCode: 130,
      stderr: expect.stringContaining('error[setup.interrupted]: SIGINT stopped'),
    });
    expect(existsSync(join(copy.path, '.cache/setup/lock'))).toBe(false);
    expect(existsSync(`/proc/${readFileSync(pidFile, 'utf8')}`)).toBe(false);
  });

  it('waits for the npm of a set-up that was killed outright, instead of starting a second beside it', async () => {
    const runs = join(copy.path, '.cache/npm.runs');
    const isFinished = join(copy.path, '.cache/npm.finish');
    const env = fakeNpm(`const fs = require('node:fs');
      fs.appendFileSync('.cache/npm.runs', process.pid + '\\n');
      setInterval(() => { if (fs.existsSync('.cache/npm.finish')) process.exit(1); }, 20);`);
    // Whole lines only: the file is there, empty, before its first line is.
    const pids = () => (existsSync(runs) ? readFileSync(runs, 'utf8').split('\n').slice(0, -1).map(Number) : []);
    const killed = spawn('node', ['tools/setup.mjs'], {
      cwd: copy.path,
      env: { ...env, PATH: HOST_PATH },
      stdio: 'ignore',
    });
    const gone = once(killed, 'close');
    await expect.poll(pids, { timeout: 20_000 }).toHaveLength(1);
    // The child may be quicker than the set-up that writes down its id.
    const lock = join(copy.path, '.cache/setup/lock');
    await expect.poll(() => readFileSync(lock, 'utf8'), { timeout: 20_000 }).toContain(`"pid":${pids()[0]}`);
    killed.kill('SIGKILL');
    await gone;

    const next = spawn('node', ['tools/setup.mjs'], {
      cwd: copy.path,
      env: { ...env, PATH: HOST_PATH },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = Promise.all([text(next.stderr), once(next, 'close')]);
    const [first] = (await once(next.stdout, 'data')) as [Buffer];
    expect(first.toString()).toBe(`setup  waiting for another set-up (pid ${pids()[0]}) …\n`);
    expect(pids()).toHaveLength(1);
    next.stdout.resume();
    writeFileSync(isFinished, '');
    const [stderr] = await ended;
    expect(stderr).toContain('error[setup.npm_failed]');
    expect(pids()).toHaveLength(2);
    expect(existsSync(join(copy.path, '.cache/setup/lock'))).toBe(false);
  });

  it('refuses in words on a checkout this user may not write', async () => {
    const argv = ['/usr/bin/env', `PATH=${HOST_PATH}`, 'node', join(copy.path, 'tools/setup.mjs')] as const;
    const plain = await runAsOrdinaryUser({ argv });
    expect({ exitCode: plain.exitCode, lines: plain.stderr.trim().split('\n') }).toEqual({
      exitCode: 3,
      lines: [
        expect.stringMatching(/^error\[setup\.may_not_write\]: .* may not write .*\.cache\/setup.* \(EACCES\)$/),
        `fix: run this as the owner of ${copy.path}, or in a checkout of your own.`,
      ],
    });
    const json = await runAsOrdinaryUser({ argv: [...argv, '--json'] });
    expect({ exitCode: json.exitCode, stderr: json.stderr, answer: JSON.parse(json.stdout) }).toMatchObject({
      exitCode: 3,
      stderr: '',
      answer: { ok: false, steps: [], error: { code: 'setup.may_not_write' } },
    });
  });
});
