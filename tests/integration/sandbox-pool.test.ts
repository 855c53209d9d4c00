import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  createSandbox,
  type HandedPipes,
  type PoolSettings,
  type RunOptions,
  type RunResult,
  type Sandbox,
  type SandboxCommand,
} from '@palyra/sandbox';
import { expect, test } from 'vitest';
import { type ProfileChanges, sandboxProfile } from '../sandbox-profile.ts';
import { until } from './launched-job.ts';

interface Opened extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly workspace: string;
  run(command: string | SandboxCommand, options?: RunOptions, change?: ProfileChanges): Promise<RunResult>;
  /** Until sandboxes wait for commands of this profile. */
  warm(change?: ProfileChanges): Promise<void>;
}

const OPERATOR = { path: '/usr/bin:/bin', home: '/nonexistent', environment: {} };

async function open(pool: Partial<PoolSettings> = {}, home?: string): Promise<Opened> {
  const palyraHome = home ?? mkdtempSync(join(tmpdir(), 'palyra-pool-home-'));
  const workspace = mkdtempSync(join(tmpdir(), 'palyra-pool-'));
  // As root the tool is somebody else, who must get there.
  chmodSync(workspace, 0o755);
  const operator = { ...OPERATOR, palyraHome };
  const sandbox = await createSandbox({ operator, logger: { error: () => undefined }, pool });
  const opened: Opened = {
    sandbox,
    workspace,
    run(command, options = {}, change = {}) {
      const whole = typeof command === 'string' ? { argv: ['sh', '-c', command] } : command;
      return sandbox.run(whole, sandboxProfile(workspace, change), options);
    },
    async warm(change) {
      for (let run = 0; run < 2; run += 1) await opened.run('true', {}, change);
      expect(await sandbox.warmed()).toBeGreaterThan(0);
    },
    async [Symbol.asyncDispose]() {
      await sandbox.close();
      rmSync(workspace, { recursive: true });
      if (home === undefined) rmSync(palyraHome, { recursive: true });
    },
  };
  return opened;
}

const stdoutOf = (result: RunResult) => ('output' in result ? Buffer.from(result.output.stdout).toString('utf8') : '');

/** bubblewrap's own processes, by what is mounted there; what waits for its word and the tools are no bubblewrap. */
function boxesOf({ workspace }: Opened): readonly number[] {
  const textOf = (pid: string, file: string) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'utf8');
    } catch {
      return '';
    }
  };
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const isBox = (pid: string) => textOf(pid, 'comm') === 'bwrap\n' && textOf(pid, 'mountinfo').includes(workspace);
  return pids.filter(isBox).map(Number);
}

/** The keepers, bubblewrap's, and those that wait for their word. */
function descendantsOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return children.flatMap((child) => [Number(child), ...descendantsOf(Number(child))]);
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // One of its own has taken it along already.
  }
}

/** In a sandbox that had a command before, it fails. */
const FIRST = 'mkdir /tmp/mine "$HOME/mine" /dev/shm/mine && echo first';

test('the third command finds a sandbox waiting, and the next one finds another', async () => {
  await using opened = await open();
  const results = [];
  for (let run = 0; run < 5; run += 1) {
    results.push(await opened.run(FIRST));
    await opened.sandbox.warmed();
  }
  expect(results.map((result) => 'pooled' in result && result.pooled)).toEqual([false, false, true, true, true]);
  expect(results.map(stdoutOf)).toEqual(Array.from({ length: 5 }, () => 'first\n'));
});

test('what was measured of it is what is measured of any other', async () => {
  await using opened = await open();
  const cold = await opened.run('true');
  await opened.warm();
  const pooled = await opened.run('true');
  expect(pooled).toMatchObject({ kind: 'completed', exitCode: 0, pooled: true });
  const factsOf = (result: RunResult) => ('facts' in result ? result.facts : undefined);
  expect(factsOf(pooled)).toEqual({ ...factsOf(cold), mountTableSha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
});

test('directory, arguments, environment and input are those of the command', async () => {
  await using opened = await open();
  const change = { environment: ['GIVEN'] };
  await opened.warm(change);
  const argv = ['sh', '-c', 'pwd; echo "$0 $GIVEN"; cat', 'name'];
  const command = { argv, cwd: '/usr/lib', environment: { GIVEN: 'variable' } };
  const result = await opened.run(command, { input: [Buffer.from('input\n')] }, change);
  expect(result).toMatchObject({ kind: 'completed', exitCode: 0, pooled: true });
  expect(stdoutOf(result)).toBe('/usr/lib\nname variable\ninput\n');
});

test('a command with a terminal, one that is spoken with, another profile and another tier start their own', async () => {
  await using opened = await open();
  await opened.warm();
  const heard: Buffer[] = [];
  const onPipes = (pipes: HandedPipes) => {
    pipes.listen((bytes) => {
      heard.push(bytes);
      pipes.close();
    });
    pipes.write(Buffer.from('said'));
  };
  expect(await opened.run('exec cat', { onPipes })).toMatchObject({ pooled: false });
  expect(Buffer.concat(heard).toString()).toBe('said');
  const terminal = { rows: 24, columns: 80 };
  expect(await opened.run({ argv: ['true'], terminal })).toMatchObject({ kind: 'completed', pooled: false });
  expect(await opened.run('true', {}, { limits: { wallMs: 60_000 } })).toMatchObject({ pooled: false });
  expect(await opened.run('true', {}, { tier: 'B' })).toMatchObject({ kind: 'completed', pooled: false });
  expect(await opened.run('true')).toMatchObject({ kind: 'completed', pooled: true });
});

test('it fails as any other does', async () => {
  await using opened = await open();
  const change = { limits: { wallMs: 2000 } };
  const next = async (command: string | SandboxCommand) => {
    await opened.warm(change);
    return opened.run(command, {}, change);
  };
  expect(await next('exit 7')).toMatchObject({ kind: 'completed', exitCode: 7, pooled: true });
  expect(await next('kill -9 $$')).toMatchObject({ kind: 'signalled', signal: 'SIGKILL', pooled: true });
  expect(await next('sleep 60')).toMatchObject({ kind: 'timed_out', limit: 'wall', pooled: true });
  expect(await next({ argv: ['true'], cwd: '/nonexistent' })).toMatchObject({
    kind: 'failed_to_start',
    code: 'sandbox.invalid_command',
  });
});

test('a command is cancelled before the word, with it, and after it', async () => {
  await using opened = await open();
  await opened.warm();
  expect(await opened.run('touch ran', { signal: AbortSignal.abort() })).toMatchObject({ kind: 'cancelled' });
  const withIt = new AbortController();
  const refused = await opened.run('touch ran', { signal: withIt.signal, onStart: () => withIt.abort() });
  expect(refused).toMatchObject({ kind: 'cancelled', pooled: true });
  await opened.sandbox.warmed();
  const thrown = await opened.run('touch ran', {
    onStart() {
      throw new Error('No.');
    },
  });
  expect(thrown).toMatchObject({ kind: 'cancelled', pooled: true });
  expect(readdirSync(opened.workspace)).toEqual([]);
  await opened.sandbox.warmed();
  const after = new AbortController();
  const options = { signal: after.signal, onOutput: () => after.abort() };
  const ended = await opened.run('echo begun; sleep 60', options);
  expect(ended).toMatchObject({ kind: 'cancelled', pooled: true });
  expect(stdoutOf(ended)).toBe('begun\n');
});

test('what has died meanwhile is not handed out', async () => {
  await using opened = await open();
  await opened.warm();
  const doomed = descendantsOf(opened.sandbox.about.launcher.pid);
  for (const box of boxesOf(opened)) endProcess(box);
  await until(() => !doomed.some(isAlive));
  expect(await opened.run('echo alive')).toMatchObject({ kind: 'completed', pooled: false });
  await opened.sandbox.warmed();
  expect(await opened.run('echo alive')).toMatchObject({ kind: 'completed', pooled: true });
});

test('without a launcher there is none, and what waited is gone', async () => {
  await using opened = await open();
  await opened.warm();
  const { pid } = opened.sandbox.about.launcher;
  const doomed = descendantsOf(pid);
  endProcess(pid);
  await until(() => !doomed.some(isAlive));
  expect(await opened.run('true')).toMatchObject({ kind: 'failed_to_start', code: 'sandbox.launcher_failed' });
});

test('what is too old ends, and nothing waits where nobody comes', async () => {
  await using opened = await open({ maxAgeMs: 300 });
  await opened.warm();
  await until(() => boxesOf(opened).length === 0);
  expect(await opened.sandbox.warmed()).toBe(0);
  expect(await opened.run('true')).toMatchObject({ kind: 'completed', pooled: false });
});

test('there are never more than it may have, however many come at once', async () => {
  await using opened = await open({ perProfile: 3 });
  await opened.warm();
  const results = await Promise.all(Array.from({ length: 30 }, () => opened.run(FIRST)));
  expect(results.map(stdoutOf)).toEqual(Array.from({ length: 30 }, () => 'first\n'));
  expect(await opened.sandbox.warmed()).toBeLessThanOrEqual(3);
  // bubblewrap has two processes for each.
  expect(boxesOf(opened).length).toBeLessThanOrEqual(6);
});

test('when it is closed nothing waits any more', async () => {
  const opened = await open();
  await opened.warm();
  expect(boxesOf(opened).length).toBeGreaterThan(0);
  await opened[Symbol.asyncDispose]();
  expect(boxesOf(opened)).toEqual([]);
});

test('switched off, no sandbox is started ahead', async () => {
  const workspace = mkdtempSync(join(tmpdir(), 'palyra-pool-'));
  const palyraHome = mkdtempSync(join(tmpdir(), 'palyra-pool-home-'));
  const operator = { ...OPERATOR, palyraHome };
  const sandbox = await createSandbox({ operator, logger: { error: () => undefined }, pool: 'off' });
  for (let run = 0; run < 4; run += 1) {
    expect(await sandbox.run({ argv: ['true'] }, sandboxProfile(workspace))).toMatchObject({ pooled: false });
    expect(await sandbox.warmed()).toBe(0);
  }
  await sandbox.close();
  for (const made of [workspace, palyraHome]) rmSync(made, { recursive: true });
});

/** Ends by itself, although sandboxes wait, and does not close anything. */
const FORGETFUL = `
import { createSandbox } from '@palyra/sandbox';
import { sandboxProfile } from './tests/sandbox-profile.ts';
const sandbox = await createSandbox({ operator: { ...${JSON.stringify(OPERATOR)}, palyraHome: process.env.HOME_OF_PALYRA }, logger: console });
for (let run = 0; run < 2; run += 1) await sandbox.run({ argv: ['true'] }, sandboxProfile(process.env.WORKSPACE));
process.stdout.write(String(await sandbox.warmed()));
`;

test('what waits keeps no process alive', async () => {
  const workspace = mkdtempSync(join(tmpdir(), 'palyra-pool-'));
  const palyraHome = mkdtempSync(join(tmpdir(), 'palyra-pool-home-'));
  const said = execFileSync(
    process.execPath,
    ['--conditions=palyra-source', '--input-type=module-typescript', '-e', FORGETFUL],
    {
      cwd: fileURLToPath(new URL('../../', import.meta.url)),
      env: { ...process.env, WORKSPACE: workspace, HOME_OF_PALYRA: palyraHome },
    },
  );
  expect(said.toString()).toBe('2');
  for (const made of [workspace, palyraHome]) rmSync(made, { recursive: true });
});

const TIER_B: ProfileChanges = { tier: 'B', egress: { mode: 'none', hosts: [] } };

test('Tier B finds one waiting too: its own environment and directory, and Landlock around it', async () => {
  const palyraHome = mkdtempSync(join(tmpdir(), 'palyra-pool-home-'));
  chmodSync(palyraHome, 0o755);
  writeFileSync(join(palyraHome, 'palyra.db'), 'secret', { mode: 0o644 });
  await using opened = await open({}, palyraHome);
  const inner = join(opened.workspace, 'inner');
  mkdirSync(inner, { mode: 0o755 });
  for (const word of ['first', 'second']) {
    const command = {
      argv: ['sh', '-c', `echo "$WORD"; pwd; cat ${palyraHome}/palyra.db || echo hidden`],
      environment: { WORD: word },
      cwd: word === 'first' ? opened.workspace : inner,
    };
    const run = () => opened.run(command, {}, { ...TIER_B, environment: ['WORD'] });
    let result = await run();
    // Room for the host's tasks is in the plan of Tier B: while many come and go, one that waits may not be the right one.
    for (let attempt = 0; attempt < 50 && !('pooled' in result && result.pooled); attempt += 1) {
      await opened.sandbox.warmed();
      result = await run();
    }
    expect(result).toMatchObject({ kind: 'completed', pooled: true, enforcement: { fileSystem: 'host' } });
    expect(stdoutOf(result)).toBe(`${word}\n${command.cwd}\nhidden\n`);
  }
  rmSync(palyraHome, { recursive: true });
});
