import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type RunOptions, type RunResult, type Sandbox, type SandboxCommand } from '@palyra/sandbox';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type ProfileChanges, sandboxProfile } from '../sandbox-profile.ts';

let place: string;
let workspace: string;
let sandbox: Sandbox;

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'palyra-run-'));
  // As root the tool is somebody else, who must get there.
  chmodSync(place, 0o755);
  workspace = join(place, 'home/project');
  await mkdir(workspace, { recursive: true });
  await mkdir(join(place, 'home/.cargo/bin'), { recursive: true });
  await writeFile(join(place, 'home/.cargo/bin/mytool'), '#!/bin/sh\necho tool runs\n', { mode: 0o755 });
  const team = join(place, 'home/team/bin');
  await mkdir(team, { recursive: true });
  await writeFile(join(team, 'teamtool'), '#!/bin/sh\n', { mode: 0o755 });
  chmodSync(team, 0o777);
  await writeFile(join(workspace, 'seen.txt'), 'seen\n');
  // palyrad's own, which its launcher has, too.
  const umask = process.umask(0o077);
  sandbox = await createSandbox({
    operator: operator(),
    logger: { error: () => undefined },
    // It would outlive each test by what waits for the next one; sandbox-pool.test.ts is about that.
    pool: 'off',
  });
  process.umask(umask);
});

afterAll(async () => {
  await sandbox.close();
  await rm(place, { recursive: true });
});

const operator = () => ({
  path: `${join(place, 'home/.cargo/bin')}:${join(place, 'home/team/bin')}:/usr/local/bin:/usr/bin:/bin`,
  home: join(place, 'home'),
  palyraHome: join(place, 'home/.palyra'),
  environment: {},
});

const profileOf = (change: ProfileChanges) => sandboxProfile(workspace, { toolchains: 'operator', ...change });

async function run(
  command: string | SandboxCommand,
  change: ProfileChanges = {},
  options: RunOptions = {},
): Promise<RunResult> {
  const whole = typeof command === 'string' ? { argv: ['sh', '-c', command] } : command;
  return sandbox.run(whole, profileOf(change), options);
}

const stdoutOf = (result: RunResult) => ('output' in result ? Buffer.from(result.output.stdout).toString('utf8') : '');

describe.each(['B', 'C'] as const)('in Tier %s', (tier) => {
  test('a command that fails has its exit code, and what it said on both streams', async () => {
    const result = await run('echo out; echo err >&2; exit 7', { tier });
    expect(result).toMatchObject({ kind: 'completed', exitCode: 7 });
    expect(stdoutOf(result)).toBe('out\n');
    expect('output' in result && Buffer.from(result.output.stderr).toString('utf8')).toBe('err\n');
  });

  test('exit 137 and SIGKILL are not the same', async () => {
    expect(await run('exit 137', { tier })).toMatchObject({ kind: 'completed', exitCode: 137 });
    expect(await run('kill -9 $$', { tier })).toMatchObject({ kind: 'signalled', signal: 'SIGKILL' });
  });

  test('input is read to its end, however much it is', async () => {
    const piece = Buffer.alloc(1_000_000, 'x');
    const result = await run('wc -c', { tier }, { input: [piece, piece, piece] });
    expect(stdoutOf(result).trim()).toBe('3000000');
  });

  test('without input the command sees its end at once', async () => {
    expect(stdoutOf(await run('cat; echo done', { tier }))).toBe('done\n');
  });

  test('a terminal is one, of the size that was asked for', async () => {
    const argv = ['sh', '-c', 'test -t 0 && test -t 1 && stty size && : > /dev/tty && echo ours'];
    const result = await run({ argv, terminal: { rows: 31, columns: 97 } }, { tier });
    expect(stdoutOf(result)).toBe('31 97\r\nours\r\n');
  });

  test('time over, silence too long, and a cancelled command are told apart', async () => {
    expect(await run('sleep 60', { tier, limits: { wallMs: 200 } })).toMatchObject({
      kind: 'timed_out',
      limit: 'wall',
    });
    const silent = await run('echo before; sleep 60', { tier, limits: { idleMs: 300 } });
    expect(silent).toMatchObject({ kind: 'timed_out', limit: 'idle' });
    expect(stdoutOf(silent)).toBe('before\n');
    const abort = new AbortController();
    const cancelled = run('echo begun; sleep 60', { tier }, { signal: abort.signal, onOutput: () => abort.abort() });
    expect(await cancelled).toMatchObject({ kind: 'cancelled' });
  });

  test('what was cancelled before it began has not run', async () => {
    expect(await run('touch ran', { tier }, { signal: AbortSignal.abort() })).toMatchObject({ kind: 'cancelled' });
    await expect(stat(join(workspace, 'ran'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('output is kept up to the limit, and the limit is named', async () => {
    const result = await run('yes', { tier, limits: { outputBytes: 100_000 } });
    expect(result).toMatchObject({ kind: 'quota_exceeded', quota: 'output', usage: { outputBytes: 100_000 } });
    expect(stdoutOf(result)).toHaveLength(100_000);
  });

  test('a program that is not there was not started, and says so', async () => {
    expect(await run({ argv: ['no-such-program'] }, { tier })).toMatchObject({ code: 'sandbox.executable_not_found' });
    expect(await run({ argv: ['./nothing'] }, { tier })).toMatchObject({ code: 'sandbox.executable_not_found' });
  });

  test('a program of the operator’s that others could have put there is not shown, and that is the reason', async () => {
    expect(await run({ argv: ['teamtool'] }, { tier })).toMatchObject({
      code: 'sandbox.executable_not_found',
      message: "A directory on the operator's PATH has teamtool, and is not shown to tools. Others can write there.",
    });
  });

  test('a pipe that nobody reads ends it, and what it makes others may read, whatever palyrad ignores and hides', async () => {
    const result = await run('(yes; echo $? >&2) | head -n 1; : > usual.txt; stat -c %a usual.txt', { tier });
    expect(stdoutOf(result)).toBe('y\n644\n');
    expect('output' in result && Buffer.from(result.output.stderr).toString('utf8')).toBe('141\n');
  });

  test('files it makes belong to the owner of the workspace', async () => {
    expect(await run('echo made > made.txt', { tier })).toMatchObject({ kind: 'completed', exitCode: 0 });
    const [made, root] = await Promise.all([stat(join(workspace, 'made.txt')), stat(workspace)]);
    expect([made.uid, made.gid]).toEqual([root.uid, root.gid]);
  });

  test('only variables that the profile names come through', async () => {
    const environment = { GIVEN: '1', KEPT: '2' };
    const result = await run(
      { argv: ['sh', '-c', 'echo $GIVEN-$KEPT'], environment },
      { tier, environment: ['GIVEN'] },
    );
    expect(stdoutOf(result)).toBe('1-\n');
  });

  test('a workspace that is read-only cannot be written', async () => {
    const change = { tier, workspace: { root: workspace, access: 'read-only' } } as const;
    expect(stdoutOf(await run('cat seen.txt; touch x 2>/dev/null || echo refused', change))).toBe('seen\nrefused\n');
  });

  test("the operator's tools are on its PATH", async () => {
    expect(stdoutOf(await run('mytool', { tier }))).toBe('tool runs\n');
  });
});

describe('in Tier C', () => {
  test('the facts are of every process in the box', async () => {
    const result = await run('true');
    const facts = 'facts' in result ? result.facts : undefined;
    expect(facts?.processes.map(({ role }) => role)).toEqual(['tool', 'init']);
    for (const { uid, capabilities, noNewPrivileges, seccomp, namespaces } of facts?.processes ?? []) {
      expect(uid).not.toBe(0);
      expect({ capabilities, noNewPrivileges, seccomp, namespaces }).toEqual({
        capabilities: '0000000000000000',
        noNewPrivileges: true,
        seccomp: 2,
        namespaces: ['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'],
      });
    }
    expect(facts?.network).toBe('isolated');
  });

  test('two boxes of one profile have one mount table', async () => {
    const [first, second] = [await run('true'), await run('false')];
    const digest = (result: RunResult) => ('facts' in result ? result.facts?.mountTableSha256 : undefined);
    expect(digest(first)).toMatch(/^[0-9a-f]{64}$/);
    expect(digest(second)).toBe(digest(first));
  });

  test('masked files are empty, masked directories closed', async () => {
    await mkdir(join(workspace, 'vault'), { recursive: true });
    await writeFile(join(workspace, 'vault/key'), 'secret');
    await writeFile(join(workspace, '.env'), 'TOKEN=1');
    const maskedPaths = [join(workspace, 'vault'), join(workspace, '.env')];
    expect(stdoutOf(await run('cat .env; cat vault/key 2>/dev/null || echo closed', { maskedPaths }))).toBe('closed\n');
  });

  test('other paths are there as the profile says, and not otherwise', async () => {
    const [shown, open] = [join(place, 'shown'), join(place, 'open')];
    for (const path of [shown, open]) {
      await mkdir(path, { recursive: true });
      const { uid, gid } = await stat(workspace);
      chownSync(path, uid, gid);
      chmodSync(path, 0o755);
    }
    const script = `touch ${open}/w && echo written; touch ${shown}/w 2>/dev/null || echo refused; ls ${place}`;
    const result = await run(script, { readOnlyPaths: [shown], writablePaths: [open] });
    expect(stdoutOf(result)).toBe('written\nrefused\nhome\nopen\nshown\n');
  });

  test('home, /tmp and /dev/shm are its own, and empty again the next time', async () => {
    await run('touch $HOME/a /tmp/b /dev/shm/c');
    expect(stdoutOf(await run('ls -A $HOME /tmp /dev/shm'))).not.toMatch(/\b[abc]\b/);
  });

  test('a program list of the profile holds here too', async () => {
    expect(await run({ argv: ['ls'] }, { executables: ['git'] })).toMatchObject({
      kind: 'refused',
      code: 'sandbox.executable_not_allowed',
    });
    expect(await run({ argv: ['python3', '-c', '1'] }, { interpreters: 'refused' })).toMatchObject({
      kind: 'refused',
      code: 'sandbox.interpreter_refused',
    });
  });

  test('output that nobody takes makes the command wait, and nothing is lost', async () => {
    const taken: number[] = [];
    let release: () => void = () => undefined;
    const first = new Promise<void>((resolve) => (release = resolve));
    const onOutput = (_: string, bytes: Uint8Array) => {
      taken.push(bytes.length);
      return first;
    };
    const running = run('head -c 4000000 /dev/zero', {}, { onOutput, onStart: () => setImmediate(() => release()) });
    expect(await running).toMatchObject({ kind: 'completed', usage: { outputBytes: 4_000_000 } });
    expect(taken.reduce((sum, bytes) => sum + bytes, 0)).toBe(4_000_000);
  });

  test('fifty at once are fifty results', async () => {
    const results = await Promise.all(Array.from({ length: 50 }, (_, at) => run(`echo ${at}`)));
    expect(results.map(stdoutOf)).toEqual(Array.from({ length: 50 }, (_, at) => `${at}\n`));
  });
});

test('in Tier B a workspace that the tool cannot get to is refused with the reason [needs: root]', async (context) => {
  context.skip(process.geteuid?.() !== 0, 'needs root');
  const root = join(place, 'closed/project');
  await mkdir(root, { recursive: true });
  chmodSync(join(place, 'closed'), 0o700);
  const inside = { workspace: { root, access: 'read-write' } } as const;
  expect(await run('pwd', { ...inside, tier: 'B' })).toMatchObject({ kind: 'refused', code: 'sandbox.unsupported' });
  expect(stdoutOf(await run('pwd', inside))).toBe(`${root}\n`);
});

test('in Tier B a tool that its user cannot get to is not on its PATH, and the next of that name is [needs: root]', async (context) => {
  context.skip(process.geteuid?.() !== 0, 'needs root');
  const closed = join(place, 'home/closed/bin');
  await mkdir(closed, { recursive: true });
  for (const name of ['mytool', 'onlytool']) {
    await writeFile(join(closed, name), '#!/bin/sh\necho closed runs\n', { mode: 0o755 });
  }
  chmodSync(join(place, 'home/closed'), 0o700);
  const other = await createSandbox({
    operator: { ...operator(), path: `${closed}:${operator().path}` },
    logger: { error: () => undefined },
    pool: 'off',
  });
  onTestFinished(() => other.close());
  const said = async (name: string, tier: 'B' | 'C') => other.run({ argv: [name] }, profileOf({ tier }));
  expect(stdoutOf(await said('mytool', 'C'))).toBe('closed runs\n');
  expect(stdoutOf(await said('mytool', 'B'))).toBe('tool runs\n');
  expect(await said('onlytool', 'B')).toMatchObject({
    code: 'sandbox.executable_not_found',
    message: expect.stringContaining('a Tier B tool is not root'),
  });
});

test('a plan can be printed without running anything', async () => {
  const planned = await sandbox.plan({ argv: ['git', 'status'] }, profileOf({}));
  expect(planned).toMatchObject({ kind: 'planned', plan: { executor: 'sandbox_tier_c_linux_bubblewrap' } });
});

test('nothing is left of all this', async () => {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8');
  expect(mounts).not.toContain(place);
  const left = execFileSync('sh', [
    '-c',
    `ls -d /sys/fs/cgroup/*/palyra-${sandbox.about.launcher.pid}-* 2>/dev/null | wc -l`,
  ]);
  expect(left.toString().trim()).toBe('0');
});
