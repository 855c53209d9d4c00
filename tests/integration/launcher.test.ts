import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createSandbox, type SandboxCommand } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import type { LaunchPlan } from '../../packages/sandbox/src/launch-plan.ts';
import { STDIN_WINDOW } from '../../packages/sandbox/src/launcher/wire.ts';
import { sandboxProfile } from '../sandbox-profile.ts';
import { barePlan, launch, openLauncher, python, shell, until } from './launched-job.ts';

const MIB = 1024 * 1024;

/** What the process waits for in the kernel, as soon as it waits for that. */
async function untilWaitingIn(pid: number, place: RegExp): Promise<void> {
  await until(() => place.test(readFileSync(`/proc/${pid}/wchan`, 'utf8')));
}

function childrenOf(pid: number): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readTextOf(`/proc/${name}/stat`))
    .filter((stat) => stat.slice(stat.lastIndexOf(')')).split(' ')[2] === String(pid));
}

/** When the end is told, everything that was started is dead and reaped; only its keeper has yet to end. */
async function expectNobodyLeft(launcherPid: number): Promise<void> {
  expect(childrenOf(launcherPid).filter((stat) => !stat.includes('(palyra-launcher)'))).toEqual([]);
  expect(childrenOf(launcherPid).flatMap((keeper) => childrenOf(Number.parseInt(keeper, 10)))).toEqual([]);
  await until(() => childrenOf(launcherPid).length === 0);
}

function readTextOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** A real Tier C plan without cgroups: whose they are does not matter here. */
async function inTheBox(
  argv: readonly string[],
  more: Partial<SandboxCommand> = {},
): Promise<AsyncDisposable & { readonly plan: LaunchPlan }> {
  const root = await mkdtemp(join(tmpdir(), 'palyra-box-'));
  await chmod(root, 0o755);
  const places = { path: '/usr/bin:/bin', home: '/nonexistent', palyraHome: '/nonexistent/.palyra', environment: {} };
  const sandbox = await createSandbox({ operator: places, logger: { error: () => {} } });
  try {
    const planned = await sandbox.plan({ argv, ...more }, sandboxProfile(root));
    if (planned.kind === 'refused') throw new Error(planned.message);
    const watch = { ...planned.plan.watch, treeCpuMs: undefined, cpuCounter: undefined };
    const plan = { ...planned.plan, cgroups: [], watch };
    return { plan, [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) };
  } finally {
    await sandbox.close();
  }
}

const ENDED_BY_ITSELF = { kind: 'ended', report: { reason: 'none', started: true, signal: 0, exitCode: 0 } };

test.each(['B', 'C'] as const)('Tier %s: an exit code of 137 is not a SIGKILL', async (tier) => {
  await using launcher = await openLauncher();
  for (const [script, exitCode, signal] of [
    ['exit 0', 0, 0],
    ['exit 7', 7, 0],
    ['exit 137', 137, 0],
    ['kill -9 $$', 0, 9],
    ['kill -TERM $$', 0, 15],
  ] as const) {
    await using box = tier === 'C' ? await inTheBox(['sh', '-c', script]) : undefined;
    const ended = await launch(launcher, box?.plan ?? shell(script)).ended;
    expect({ script, ended }).toMatchObject({
      script,
      ended: { kind: 'ended', report: { exitCode, signal, exact: true, reason: 'none', started: true } },
    });
  }
});

test.each(['B', 'C'] as const)('Tier %s: nothing but 0, 1 and 2 is open in the tool', async (tier) => {
  const program = `
import os
def is_open(fd):
    try: os.fstat(fd)
    except OSError: return False
    return True
print([fd for fd in range(4096) if is_open(fd)])`;
  await using launcher = await openLauncher();
  // Another job that waits for its word has descriptors of its own, and must not share them either.
  const other = launch(launcher, shell('read line'), { stdin: true, word: 'wait' });
  await other.facts;
  await using box = tier === 'C' ? await inTheBox(['python3', '-c', program]) : undefined;
  const job = launch(launcher, box?.plan ?? python(program), { stdin: true });
  expect(await job.ended).toMatchObject(ENDED_BY_ITSELF);
  expect(job.output().toString()).toBe('[0, 1, 2]\n');
  other.kill();
  await other.ended;
});

test('without credit the tool waits, with credit it goes on, and both streams arrive whole', async () => {
  await using launcher = await openLauncher();
  const lines = Array.from({ length: 2_800_000 }, (_, at) => `${at + 1}\n`).join('');
  const digest = createHash('sha256').update(lines).digest('hex');
  expect(lines.length).toBeGreaterThan(20 * MIB);

  const job = launch(launcher, shell('seq 2800000 | tee /dev/stderr'), { credit: MIB, refill: 'never' });
  const received = () => job.output().length + job.output('stderr').length;
  await until(() => received() === MIB);
  const pid = (await job.facts).outside[0]?.pid ?? 0;
  const tee = await childNamed('tee', pid);
  await untilWaitingIn(tee, /pipe_write/);
  expect(received()).toBe(MIB);

  job.allow(64 * MIB);
  expect(await job.ended).toMatchObject(ENDED_BY_ITSELF);
  for (const stream of ['stdout', 'stderr'] as const) {
    expect(createHash('sha256').update(job.output(stream)).digest('hex')).toBe(digest);
  }
});

async function childNamed(name: string, parent: number): Promise<number> {
  const find = () => childrenOf(parent).find((stat) => stat.includes(`(${name})`));
  await until(() => find() !== undefined);
  return Number.parseInt(find() ?? '', 10);
}

test.each(['B', 'C'] as const)('Tier %s: a tool can open its streams by name', async (tier) => {
  const script = 'echo out >/dev/stdout; echo err >/dev/stderr; cat /dev/stdin';
  await using launcher = await openLauncher();
  await using box = tier === 'C' ? await inTheBox(['sh', '-c', script]) : undefined;
  const job = launch(launcher, box?.plan ?? shell(script), { stdin: true });
  job.write(Buffer.from('in'));
  job.endInput();
  expect(await job.ended).toMatchObject(ENDED_BY_ITSELF);
  expect([job.output().toString(), job.output('stderr').toString()]).toEqual(['out\nin', 'err\n']);
});

test('output above the limit ends the job, and what was within it is there', async () => {
  await using launcher = await openLauncher();
  const limited = launch(launcher, shell('yes', { watch: { outputBytes: 100_001 } }));
  expect(await limited.ended).toMatchObject({ kind: 'ended', report: { reason: 'output', outputBytes: 100_001 } });
  expect(limited.output().length).toBe(100_001);
});

// SECURITY: T-17 — without credit nothing is read before it has ended: what is cut off then was told as all of it.
test('a command that has ended before its output is read has exceeded its limit all the same', async () => {
  await using launcher = await openLauncher();
  const limited = launch(launcher, shell('head -c 5000 /dev/zero', { watch: { outputBytes: 1000 } }), { credit: 0 });
  expect(await limited.ended).toMatchObject({ kind: 'ended', report: { reason: 'output', outputBytes: 1000 } });
  const whole = launch(launcher, shell('head -c 1000 /dev/zero', { watch: { outputBytes: 1000 } }), { credit: 0 });
  expect(await whole.ended).toMatchObject({
    kind: 'ended',
    report: { reason: 'none', outputBytes: 1000, exitCode: 0 },
  });
});

test('time in which a tool may not speak does not count as idle', async () => {
  await using launcher = await openLauncher();
  const quiet = launch(launcher, shell('echo one; read line; echo two', { watch: { idleMs: 1000 } }), {
    stdin: true,
    credit: 0,
  });
  await quiet.facts;
  // Ends when more than that second has passed, by the launcher's own clock.
  const clock = launch(launcher, shell('exec sleep 1000', { watch: { wallMs: 1500 } }));
  expect(await clock.ended).toMatchObject({ report: { reason: 'wall' } });
  quiet.allow(1000);
  quiet.write(Buffer.from('go on\n'));
  expect(await quiet.ended).toMatchObject(ENDED_BY_ITSELF);
  expect(quiet.output().toString()).toBe('one\ntwo\n');
});

test('all input arrives, no more is taken than fits, and its end is seen', async () => {
  await using launcher = await openLauncher();
  const piece = Buffer.alloc(STDIN_WINDOW / 4, 'input ');
  const job = launch(launcher, shell('sha256sum'), { stdin: true });
  const hash = createHash('sha256');
  for (let sent = 0; sent < 20 * MIB; sent += piece.length) {
    await until(() => sent + piece.length - job.taken() <= STDIN_WINDOW);
    job.write(piece);
    hash.update(piece);
  }
  job.endInput();
  expect(await job.ended).toMatchObject(ENDED_BY_ITSELF);
  expect(job.output().toString()).toBe(`${hash.digest('hex')}  -\n`);
});

test('a tool that does not read makes its input wait, and more than the window ends that job only', async () => {
  await using launcher = await openLauncher();
  const reader = launch(launcher, shell('cat'), { stdin: true });
  const sleeper = launch(launcher, shell('exec sleep 1000'), { stdin: true });
  await sleeper.facts;
  sleeper.write(Buffer.alloc(STDIN_WINDOW));
  // What a pipe holds, and the rest is with the launcher.
  await until(() => sleeper.taken() > 0);
  expect(sleeper.taken()).toBeLessThan(STDIN_WINDOW);
  sleeper.write(Buffer.alloc(STDIN_WINDOW));
  expect(await sleeper.ended).toMatchObject({ report: { reason: 'cancelled' } });
  reader.write(Buffer.from('still here'));
  reader.endInput();
  expect(await reader.ended).toMatchObject(ENDED_BY_ITSELF);
  expect(reader.output().toString()).toBe('still here');
});

test('input for a tool that has closed it is taken and gone', async () => {
  await using launcher = await openLauncher();
  const job = launch(launcher, shell('exec <&-; echo closed; exec sleep 1000'), { stdin: true });
  await job.untilOutput('closed');
  job.write(Buffer.alloc(STDIN_WINDOW));
  await until(() => job.taken() === STDIN_WINDOW);
  job.kill();
  expect(await job.ended).toMatchObject({ report: { reason: 'cancelled' } });
});

test('the end of one job’s input is seen although another job waits for its word', async () => {
  await using launcher = await openLauncher();
  const reader = launch(launcher, shell('cat'), { stdin: true });
  await reader.facts;
  const waiting = launch(launcher, shell('true'), { word: 'wait' });
  await waiting.facts;
  reader.endInput();
  expect(await reader.ended).toMatchObject(ENDED_BY_ITSELF);
  waiting.kill();
  await waiting.ended;
});

test.each(['B', 'C'] as const)(
  'Tier %s: a terminal has the size that was asked for, and the tool is told of another one',
  async (tier) => {
    const program = `
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
print(os.isatty(0), os.isatty(1), os.isatty(2), os.get_terminal_size(), os.getsid(0) == os.getpid(), flush=True)
signal.sigwait([signal.SIGWINCH])
print(os.get_terminal_size(), flush=True)
print(input(), flush=True)`;
    await using launcher = await openLauncher();
    const terminal = { rows: 24, columns: 80 };
    await using box = tier === 'C' ? await inTheBox(['python3', '-c', program], { terminal }) : undefined;
    const job = launch(launcher, box?.plan ?? python(program, { terminal }), { stdin: true });
    await job.untilOutput('lines=24');
    job.resize(50, 132);
    await job.untilOutput('lines=50');
    job.write(Buffer.from('typed\n'));
    expect(await job.ended).toMatchObject(ENDED_BY_ITSELF);
    const [first, ...rest] = job.output().toString().replaceAll('\r', '').split('\n');
    expect(first).toBe('True True True os.terminal_size(columns=80, lines=24) True');
    // What is typed is echoed by the terminal and said by the tool.
    expect(rest).toEqual(['os.terminal_size(columns=132, lines=50)', 'typed', 'typed', '']);
  },
);

test('wall and idle time end a job, and say which', async () => {
  await using launcher = await openLauncher();
  const wall = launch(launcher, shell('while :; do echo x; sleep 0.01; done', { watch: { wallMs: 200 } }));
  const idle = launch(launcher, shell('echo once; exec sleep 1000', { watch: { idleMs: 1000 } }));
  expect(await wall.ended).toMatchObject({ report: { reason: 'wall', started: true } });
  expect(await idle.ended).toMatchObject({ report: { reason: 'idle', started: true } });
  expect(idle.output().toString()).toBe('once\n');
});

test('a job can be killed before its facts, before its word and while it runs, and leaves nobody', async () => {
  await using launcher = await openLauncher();
  const early = launch(launcher, shell('exec sleep 1000'));
  early.kill();
  expect(await early.ended).toMatchObject({ report: { reason: 'cancelled', started: false } });

  const measured = launch(launcher, shell('exec sleep 1000'), { word: 'wait' });
  await measured.facts;
  measured.kill();
  expect(await measured.ended).toMatchObject({ report: { reason: 'cancelled', started: false } });

  const running = launch(launcher, shell('setsid sh -c "sleep 1000 & sleep 1000" & echo up; wait'));
  await running.untilOutput('up');
  running.kill();
  expect(await running.ended).toMatchObject({ report: { reason: 'cancelled', started: true } });
  await expectNobodyLeft(launcher.about.pid);
});

test('orphans and zombies of a tool are gone when it has ended', async () => {
  await using launcher = await openLauncher();
  const script = '(setsid sleep 1000 & echo $! >&2) ; (true &) ; (sh -c "true & exec sleep 1000" &) ; echo done';
  const job = launch(launcher, shell(script));
  expect(await job.ended).toMatchObject(ENDED_BY_ITSELF);
  expect(existsSync(`/proc/${job.output('stderr').toString().trim()}`)).toBe(false);
  await expectNobodyLeft(launcher.about.pid);
});

test('256 jobs run at once, and the next one is refused until one has ended', { timeout: 120_000 }, async () => {
  await using launcher = await openLauncher();
  const jobs = Array.from({ length: 256 }, () => launch(launcher, barePlan(['/bin/sleep', '1000'])));
  const oneMore = launch(launcher, barePlan(['/bin/true']));
  expect(await oneMore.ended).toEqual({ kind: 'failed', message: 'Too many commands are running.' });
  for (const job of jobs) job.kill();
  for (const job of jobs) expect(await job.ended).toMatchObject({ report: { reason: 'cancelled' } });
  expect(await launch(launcher, barePlan(['/bin/true'])).ended).toMatchObject(ENDED_BY_ITSELF);
  await expectNobodyLeft(launcher.about.pid);
});

test('what cannot be started says why, and only that job fails', async () => {
  await using launcher = await openLauncher();
  const fine = launch(launcher, shell('cat'), { stdin: true });
  const missing = launch(launcher, barePlan(['/nonexistent/tool']));
  expect(await missing.ended).toMatchObject({
    kind: 'failed',
    message: expect.stringMatching(/could not be executed: No such file/),
  });
  const lost = launch(launcher, shell('true', { cwd: '/nonexistent' }));
  expect(await lost.ended).toMatchObject({ kind: 'failed', message: expect.stringMatching(/working directory/) });
  fine.endInput();
  expect(await fine.ended).toMatchObject(ENDED_BY_ITSELF);
});

test('closing ends what runs', async () => {
  const launcher = await openLauncher();
  const job = launch(launcher, shell('exec sleep 1000'));
  const pid = (await job.facts).outside[0]?.pid ?? 0;
  await launcher[Symbol.asyncDispose]();
  expect(existsSync(`/proc/${pid}`)).toBe(false);
  expect(existsSync(`/proc/${launcher.about.pid}`)).toBe(false);
  expect(await job.ended).toMatchObject({ kind: 'failed' });
});

/** Starts a launcher and a job that stays, and says who they are. */
const PARENT = `
const { openLauncher, launch, shell } = await import(process.argv[1]);
const launcher = await openLauncher();
const job = launch(launcher, shell('setsid sleep 1000 & echo $!; exec sleep 1000'));
const [{ pid }] = (await job.facts).outside;
await job.untilOutput('\\n');
console.log([launcher.about.pid, pid, job.output().toString().trim()].join(' '));
`;

test.each(['palyrad', 'the launcher'] as const)('kill -9 of %s ends everything', async (victim) => {
  const place = fileURLToPath(new URL('./launched-job.ts', import.meta.url));
  const command = ['--conditions=palyra-source', '--input-type=module', '-e', PARENT, place];
  const parent = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(parent, 'close');
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
  const pids = line.split(' ').map(Number);
  expect(pids).toHaveLength(3);
  process.kill(victim === 'palyrad' ? (parent.pid ?? 0) : (pids[0] ?? 0), 'SIGKILL');
  await closed;
  await until(() => pids.every((pid) => !existsSync(`/proc/${pid}`)));
});

test('bytes for a wrapper are sealed: neither it nor another process of its user changes them', async () => {
  await using launcher = await openLauncher();
  const program = `
import fcntl, os
print(fcntl.fcntl(10, 1034))
for act in (lambda: os.pwrite(10, b'x', 0), lambda: os.ftruncate(10, 1), lambda: os.pwrite(os.open('/proc/self/fd/10', os.O_RDWR), b'x', 0)):
  try: act(); print('done')
  except OSError as error: print(error.strerror)
print(os.read(10, 9).decode())
`;
  const bytes = Buffer.from('approved!');
  const wrapper = ['/usr/bin/python3', '-c', program];
  const job = launch(launcher, barePlan(['/bin/true'], { wrapper, data: [{ fd: 10, bytes }] }));
  await job.ended;
  const refused = 'Operation not permitted';
  expect(job.output('stdout').toString()).toBe(['15', refused, refused, refused, 'approved!', ''].join('\n'));
});
