import { existsSync, readdirSync } from 'node:fs';
import { chmod, copyFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LaunchPlan } from '../../packages/sandbox/src/launch-plan.ts';
import { encodeRequest } from '../../packages/sandbox/src/launcher/encode-request.ts';
import {
  encodeFrame,
  encodeItems,
  FROM_LAUNCHER,
  START_ITEM,
  TO_LAUNCHER,
} from '../../packages/sandbox/src/launcher/wire.ts';
import { barePlan, isRoot, launcherProgram, shell, until } from './launched-job.ts';
import { type RawLauncher, startRawLauncher } from './raw-launcher.ts';

const CREDIT = Buffer.from([0, 0, 16, 0]);

function startJob(launcher: RawLauncher, job: number, plan: LaunchPlan): void {
  launcher.send(TO_LAUNCHER.start, job, encodeRequest(plan, { stdin: true }));
  launcher.send(TO_LAUNCHER.credit, job, CREDIT);
}

async function startVictim(launcher: RawLauncher): Promise<void> {
  startJob(launcher, 1, barePlan(['/bin/cat']));
  await launcher.frame(({ job, kind }) => job === 1 && kind === FROM_LAUNCHER.facts);
  launcher.send(TO_LAUNCHER.go, 1);
}

/** The job that ran all the while reads to its end and ends well. */
async function expectUndisturbed(launcher: RawLauncher): Promise<void> {
  launcher.send(TO_LAUNCHER.stdin, 1, Buffer.from('undisturbed'));
  launcher.send(TO_LAUNCHER.stdinEnd, 1);
  const { payload } = await launcher.frame(({ job, kind }) => job === 1 && kind === FROM_LAUNCHER.ended);
  expect([...payload.subarray(6, 16)]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
  const said = launcher.frames.filter(({ job, kind }) => job === 1 && kind === FROM_LAUNCHER.stdout);
  expect(Buffer.concat(said.map(({ payload: bytes }) => bytes)).toString()).toBe('undisturbed');
}

async function refusalOf(launcher: RawLauncher, job: number): Promise<string> {
  const { payload } = await launcher.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.failed);
  return payload.toString();
}

const plan = barePlan(['/bin/true']);
const cgroup = (directory: string, file = 'pids.max') => ({
  directory,
  settings: [{ file, value: '8' }],
  counters: [],
});

const REFUSED: readonly (readonly [what: string, plan: LaunchPlan, why: string])[] = [
  ['uid 0', { ...plan, identity: { uid: 0, gid: 1000 } }, 'A tool may not be root.'],
  ['gid 0', { ...plan, identity: { uid: 1000, gid: 0 } }, 'A tool may not be root.'],
  ['uid -1', { ...plan, identity: { uid: 0xffff_ffff, gid: 1000 } }, 'A tool may not be root.'],
  ['a cgroup elsewhere', { ...plan, cgroups: [cgroup('/tmp/palyra-1')] }, 'A cgroup is not one of ours.'],
  [
    'a cgroup with ..',
    { ...plan, cgroups: [cgroup('/sys/fs/cgroup/../../tmp/palyra-1')] },
    'A cgroup is not one of ours.',
  ],
  ['a cgroup of others', { ...plan, cgroups: [cgroup('/sys/fs/cgroup/pids/docker')] }, 'A cgroup is not one of ours.'],
  ['a cgroup without a name', { ...plan, cgroups: [cgroup('/sys/fs/cgroup/palyra-')] }, 'A cgroup is not one of ours.'],
  [
    'an unknown setting',
    { ...plan, cgroups: [cgroup('/sys/fs/cgroup/pids/palyra-1', 'cgroup.procs')] },
    'A file of a cgroup is unknown.',
  ],
  [
    'a setting elsewhere',
    { ...plan, cgroups: [cgroup('/sys/fs/cgroup/pids/palyra-1', '../pids.max')] },
    'A file of a cgroup is unknown.',
  ],
  ['a counter elsewhere', { ...plan, watch: { ...plan.watch, cpuCounter: '/etc/shadow' } }, 'A counter is malformed.'],
  [
    'a counter with ..',
    { ...plan, watch: { ...plan.watch, cpuCounter: '/sys/fs/cgroup/../x' } },
    'A counter is malformed.',
  ],
  [
    'data over the stage’s socket',
    { ...plan, data: [{ fd: 3, bytes: Buffer.from('x') }] },
    'A descriptor for data is out of bounds.',
  ],
  [
    'data too high',
    { ...plan, data: [{ fd: 100, bytes: Buffer.from('x') }] },
    'A descriptor for data is out of bounds.',
  ],
  [
    'data twice',
    { ...plan, data: [10, 10].map((fd) => ({ fd, bytes: Buffer.from('x') })) },
    'A descriptor for data is there twice.',
  ],
  ['a relative program', barePlan(['bin/true']), 'A path is not absolute.'],
  ['no argv', { ...plan, tool: { ...plan.tool, argv: [] } }, 'The request names no tool.'],
  ['a NUL', { ...plan, tool: { ...plan.tool, argv: ['a\0b'] } }, 'A text holds a NUL.'],
  [
    'a limit upside down',
    { ...plan, rlimits: [{ name: 'core', soft: 2, hard: 1 }] },
    'A soft limit is above its hard limit.',
  ],
  [
    'a staged mount outside',
    { ...plan, staged: [{ name: '..', source: '/', readOnly: true, idmap: false }] },
    'A staged mount is malformed.',
  ],
];

test('a request that is refused ends that request only', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await startVictim(launcher);
  for (const [at, [what, refused, why]] of REFUSED.entries()) {
    startJob(launcher, 100 + at, refused);
    expect({ what, why: await refusalOf(launcher, 100 + at) }).toEqual({ what, why });
  }
  await expectUndisturbed(launcher);
});

test('so does one that is no request at all', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await startVictim(launcher);
  const whole = encodeRequest(plan, { stdin: false });
  const malformed: readonly (readonly [Buffer, string])[] = [
    [Buffer.alloc(0), 'The request names no tool.'],
    [Buffer.from('not a list of items at all'), 'The request is cut off.'],
    [whole.subarray(0, whole.length - 1), 'The request is cut off.'],
    [encodeItems([{ tag: 999, bytes: Buffer.alloc(1) }]), 'An item is unknown.'],
    [encodeItems([{ tag: START_ITEM.identity, bytes: Buffer.alloc(7) }]), 'An item has the wrong length.'],
    [encodeItems([{ tag: START_ITEM.staged, bytes: Buffer.from('no nul') }]), 'An item lacks its NUL.'],
  ];
  for (const [at, [bytes, why]] of malformed.entries()) {
    launcher.send(TO_LAUNCHER.start, 100 + at, bytes);
    expect(await refusalOf(launcher, 100 + at)).toBe(why);
  }
  await expectUndisturbed(launcher);
});

test('a frame that is too long is skipped, and the next one is understood', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await startVictim(launcher);
  // Whatever is in it: a frame inside a frame is not one.
  const inside = encodeFrame(TO_LAUNCHER.kill, 1);
  const size = 137 * 1024 * 1024;
  const filling = Buffer.concat(Array.from({ length: Math.ceil(size / inside.length) }, () => inside)).subarray(
    0,
    size,
  );
  launcher.send(TO_LAUNCHER.start, 7, filling);
  expect(await refusalOf(launcher, 7)).toBe('A frame is too long.');
  startJob(launcher, 8, plan);
  await launcher.frame(({ job, kind }) => job === 8 && kind === FROM_LAUNCHER.facts);
  launcher.send(TO_LAUNCHER.kill, 8);
  await launcher.frame(({ job, kind }) => job === 8 && kind === FROM_LAUNCHER.ended);
  await expectUndisturbed(launcher);
});

test('frames for jobs that are not there are ignored, and unknown kinds end the job that they name', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await startVictim(launcher);
  for (const kind of [2, 3, 4, 5, 6, 7, 99, 128, 255]) launcher.send(kind, 4711, Buffer.alloc(4));
  startJob(launcher, 2, shell('exec sleep 1000'));
  await launcher.frame(({ job, kind }) => job === 2 && kind === FROM_LAUNCHER.facts);
  launcher.send(99, 2);
  expect(await refusalOf(launcher, 2)).toBe('A frame is of an unknown kind.');
  await launcher.frame(({ job, kind }) => job === 2 && kind === FROM_LAUNCHER.ended);
  await expectUndisturbed(launcher);
  expect(launcher.frames.filter(({ job }) => job === 4711)).toEqual([]);
});

test('a number that a job has is not given to another one', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await startVictim(launcher);
  launcher.send(TO_LAUNCHER.start, 1, encodeRequest(shell('echo instead'), { stdin: false }));
  expect(await refusalOf(launcher, 1)).toBe('There is a job of this number.');
  await expectUndisturbed(launcher);
});

test('the word before the facts, and the word twice, change nothing', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  launcher.send(TO_LAUNCHER.start, 1, encodeRequest(barePlan(['/bin/cat']), { stdin: true }));
  launcher.send(TO_LAUNCHER.go, 1);
  launcher.send(TO_LAUNCHER.credit, 1, CREDIT);
  await launcher.frame(({ job, kind }) => job === 1 && kind === FROM_LAUNCHER.facts);
  launcher.send(TO_LAUNCHER.go, 1);
  launcher.send(TO_LAUNCHER.go, 1);
  await expectUndisturbed(launcher);
});

test('when the socket is closed the launcher ends, and its tools with it', async () => {
  const launcher = await startRawLauncher([launcherProgram()]);
  startJob(launcher, 1, shell('setsid sleep 1000 & echo $!; exec sleep 1000'));
  await launcher.frame(({ kind }) => kind === FROM_LAUNCHER.facts);
  launcher.send(TO_LAUNCHER.go, 1);
  const { payload } = await launcher.frame(({ kind }) => kind === FROM_LAUNCHER.stdout);
  expect(await launcher.close()).toEqual({ code: 0, signal: null });
  expect(existsSync(`/proc/${payload.toString().trim()}`)).toBe(false);
});

test('without a socket it says what it is and does nothing', async () => {
  await expect(startRawLauncher(['/bin/sh', '-c', `exec ${launcherProgram()} 3>&-`])).rejects.toThrow(
    'palyra-launcher is started by palyrad',
  );
});

test.skipIf(!isRoot)('root runs no tool without an identity [needs: root]', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  startJob(launcher, 1, { ...plan, identity: undefined });
  expect(await refusalOf(launcher, 1)).toBe('a tool may not be root');
});

/** Nobody's uid, and a launcher that it can execute. */
async function startOrdinaryLauncher(directory: string, limits: readonly string[] = []): Promise<RawLauncher> {
  const program = join(directory, 'palyra-launcher');
  await copyFile(launcherProgram(), program);
  const identity = ['--reuid=879901', '--regid=879901', '--clear-groups', '--'];
  return startRawLauncher(['setpriv', ...identity, 'prlimit', ...limits, program]);
}

async function openDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'palyra-launcher-'));
  await chmod(path, 0o755);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

test.skipIf(!isRoot)('an ordinary launcher gives nobody another user and stages nothing [needs: root]', async () => {
  await using directory = await openDirectory();
  await using launcher = await startOrdinaryLauncher(directory.path);
  const own = { ...plan, identity: undefined };
  startJob(launcher, 1, plan);
  expect(await refusalOf(launcher, 1)).toBe('only root can give a tool another user');
  startJob(launcher, 2, { ...own, staged: [{ name: 'a', source: '/tmp', readOnly: true, idmap: false }] });
  expect(await refusalOf(launcher, 2)).toBe('only root can give a tool another user');
  startJob(launcher, 3, own);
  await launcher.frame(({ job, kind }) => job === 3 && kind === FROM_LAUNCHER.facts);
  launcher.send(TO_LAUNCHER.go, 3);
  await launcher.frame(({ job, kind }) => job === 3 && kind === FROM_LAUNCHER.ended);
});

test.skipIf(!isRoot)('who has the launcher’s uid cannot look into it [needs: root]', async () => {
  await using directory = await openDirectory();
  await using launcher = await startOrdinaryLauncher(directory.path);
  // The kernel gives what belongs to an undumpable process to root.
  expect((await stat(`/proc/${launcher.pid}/mem`)).uid).toBe(0);
});

test.skipIf(!isRoot)('without descriptors a request fails, and none is lost [needs: root]', async () => {
  await using directory = await openDirectory();
  await using launcher = await startOrdinaryLauncher(directory.path, ['--nofile=256:256']);
  const own = { ...barePlan(['/bin/sleep', '1000']), identity: undefined };
  const openNow = () => readdirSync(`/proc/${launcher.pid}/fd`).length;
  const before = openNow();
  for (const first of [1000, 2000, 3000]) {
    const jobs = Array.from({ length: 300 }, (_, at) => first + at);
    for (const job of jobs) startJob(launcher, job, own);
    for (const job of jobs) await launcher.frame((frame) => frame.job === job);
    const has = (job: number, kind: number) =>
      launcher.frames.some((frame) => frame.job === job && frame.kind === kind);
    const running = jobs.filter((job) => has(job, FROM_LAUNCHER.facts));
    expect(running.length).toBeGreaterThan(10);
    expect(running.length).toBeLessThan(300);
    for (const job of running) launcher.send(TO_LAUNCHER.kill, job);
    for (const job of running) await launcher.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.ended);
  }
  // Those of the last one are closed in the moment after its end was told.
  await until(() => openNow() === before);
});

test.skipIf(!isRoot)('as many jobs run as can be watched, and the next one is refused [needs: root]', async () => {
  await using directory = await openDirectory();
  await using launcher = await startOrdinaryLauncher(directory.path, ['--nofile=256:256']);
  const own = encodeRequest({ ...barePlan(['/bin/sleep', '1000']), identity: undefined }, { stdin: false });
  const wait = (job: number) => launcher.frame((frame) => frame.job === job);
  let running = 0;
  for (let job = 1; job <= 64; job += 1) {
    launcher.send(TO_LAUNCHER.start, job, own);
    // One after the other: a tool that runs has fewer descriptors than one that begins.
    if ((await wait(job)).kind !== FROM_LAUNCHER.facts) break;
    launcher.send(TO_LAUNCHER.go, job);
    running = job;
  }
  expect(running).toBeGreaterThan(20);
  expect(running).toBeLessThan(64);
  launcher.send(TO_LAUNCHER.kill, 1);
  await launcher.frame(({ job, kind }) => job === 1 && kind === FROM_LAUNCHER.ended);
});

test.skipIf(!isRoot)('where there are few descriptors, cgroups take none that jobs need [needs: root]', async () => {
  await using launcher = await startRawLauncher(['/usr/bin/prlimit', '--nofile=256:256', launcherProgram()]);
  const hierarchy = existsSync('/sys/fs/cgroup/pids') ? '/sys/fs/cgroup/pids' : '/sys/fs/cgroup';
  let running = 0;
  for (let job = 1; job <= 64; job += 1) {
    const limited = {
      ...barePlan(['/bin/sleep', '1000']),
      cgroups: [
        {
          directory: `${hierarchy}/palyra-few-${launcher.pid}-${job}`,
          settings: [{ file: 'pids.max', value: '64' }],
          counters: Array.from({ length: 12 }, () => 'pids.current'),
        },
      ],
    };
    launcher.send(TO_LAUNCHER.start, job, encodeRequest(limited, { stdin: false }));
    const { kind } = await launcher.frame((frame) => frame.job === job);
    if (kind !== FROM_LAUNCHER.facts) break;
    launcher.send(TO_LAUNCHER.go, job);
    running = job;
  }
  expect(running).toBeGreaterThan(20);
});
