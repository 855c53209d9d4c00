import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { hostCgroupFiles } from '../../packages/sandbox/src/cgroup/cgroup-files.ts';
import { detectCgroups, type V2Driver } from '../../packages/sandbox/src/cgroup/detect-cgroups.ts';
import { jobNameOf, startTicksOf } from '../../packages/sandbox/src/cgroup/job-name.ts';
import { parseCgroupMounts } from '../../packages/sandbox/src/cgroup/parse-cgroup-mounts.ts';
import { planCgroups } from '../../packages/sandbox/src/cgroup/plan-cgroups.ts';
import { prepareCgroups } from '../../packages/sandbox/src/cgroup/prepare-cgroups.ts';
import { countersOf } from '../../packages/sandbox/src/cgroup/read-counters.ts';
import { removeCgroup, removeStale } from '../../packages/sandbox/src/cgroup/remove-stale.ts';
import type { CgroupPlan } from '../../packages/sandbox/src/launch-plan.ts';

const MIB = 1024 * 1024;
const isRoot = process.geteuid?.() === 0;
const files = hostCgroupFiles();
const ownTicks = startTicksOf(readFileSync('/proc/self/stat', 'utf8')) ?? 0;

interface Job {
  readonly cgroups: readonly CgroupPlan[];
  readonly driver: ReturnType<typeof detectCgroups>;
}

function makeJob(job: string, launcher = { pid: process.pid, ticks: ownTicks }): Job {
  const driver = prepareCgroups(detectCgroups(files), files);
  const plan = planCgroups(driver, {
    jobName: jobNameOf({ launcherPid: launcher.pid, launcherStartTicks: launcher.ticks, job }),
    limits: { memoryBytes: 64 * MIB, processes: 8, cpuMilli: 1000 },
    mustHold: ['memory', 'processes', 'cpu'],
  });
  if (plan.kind !== 'planned') throw new Error(plan.reason);
  for (const { directory, settings } of plan.cgroups) {
    mkdirSync(directory);
    for (const { file, value } of settings) writeFileSync(`${directory}/${file}`, value);
  }
  return { cgroups: plan.cgroups, driver };
}

type Running = ChildProcessByStdio<null, Readable, null>;

/** Python that enters the cgroups before it does anything else. */
function runIn({ cgroups }: Job, program: string): Running {
  const enter = 'import sys\nfor each in sys.argv[1:]: open(each + "/cgroup.procs", "w").write("0")\n';
  const directories = cgroups.map(({ directory }) => directory);
  return spawn('python3', ['-c', `${enter}${program}`, ...directories], { stdio: ['ignore', 'pipe', 'inherit'] });
}

function read({ cgroups }: Job, which: 'settings' | 'counters'): Record<string, string> {
  const paths = cgroups.flatMap(({ directory, settings, counters }) =>
    (which === 'settings' ? settings.map(({ file }) => file) : counters).map((file) => `${directory}/${file}`),
  );
  return Object.fromEntries(paths.map((path) => [path, readFileSync(path, 'utf8').trim()]));
}

async function remove({ cgroups }: Job): Promise<void> {
  for (const { directory } of cgroups) await removeCgroup(directory, files);
}

test.skipIf(!isRoot)('limits read back as they were planned [needs: root]', async () => {
  const job = makeJob('read-back');
  try {
    const planned = job.cgroups.flatMap(({ directory, settings }) =>
      settings.map(({ file, value }) => [`${directory}/${file}`, value]),
    );
    expect(read(job, 'settings')).toEqual(Object.fromEntries(planned));
    expect(Object.keys(read(job, 'counters')).length).toBeGreaterThan(3);
  } finally {
    await remove(job);
  }
  expect(job.cgroups.filter(({ directory }) => existsSync(directory))).toEqual([]);
});

/** Four of 24 MiB: each is below the limit, only together they are above it. Each is asked whether it got its memory. */
const BALLOON = `
import os, signal
kids = []
for _ in range(4):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        held = bytearray(b"x") * (24 << 20)
        os.write(w, b"f")
        signal.pause()
    os.close(w)
    os.read(r, 1)
    kids.append(pid)
for pid in kids:
    os.kill(pid, signal.SIGKILL)
`;

const FORK_STORM = `
import os, signal
kids, refused = [], 0
for _ in range(20):
    try:
        pid = os.fork()
    except BlockingIOError:
        refused += 1
        continue
    if pid == 0:
        signal.pause()
    kids.append(pid)
for pid in kids:
    os.kill(pid, signal.SIGKILL)
print(len(kids), refused)
`;

const BURN = `
import time
before = time.process_time()
while time.process_time() < before + 0.3: pass
`;

/** A double fork in a session of its own that takes no notice of polite signals. */
const SURVIVOR = `
import os, signal
for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(each, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        signal.pause()
    os._exit(0)
signal.pause()
`;

test.skipIf(!isRoot)('a memory balloon of several processes is killed and counted [needs: root]', async () => {
  const job = makeJob('balloon');
  try {
    await once(runIn(job, BALLOON), 'close');
    const { oomKills, memoryPeakBytes } = countersOf(job.driver.kind, read(job, 'counters'));
    expect(oomKills).toBeGreaterThan(0);
    expect(memoryPeakBytes).toBeGreaterThan(32 * MIB);
    expect(memoryPeakBytes).toBeLessThanOrEqual(64 * MIB);
  } finally {
    await remove(job);
  }
});

test.skipIf(!isRoot)('a fork storm ends at the limit and is counted [needs: root]', async () => {
  const job = makeJob('storm');
  try {
    expect(await outputOf(runIn(job, FORK_STORM))).toBe('7 13\n');
    expect(countersOf(job.driver.kind, read(job, 'counters'))).toMatchObject({ forksRefused: 13, oomKills: 0 });
  } finally {
    await remove(job);
  }
});

test.skipIf(!isRoot)('CPU time of ended processes stays counted [needs: root]', async () => {
  const job = makeJob('burn');
  try {
    await once(runIn(job, BURN), 'close');
    expect(countersOf(job.driver.kind, read(job, 'counters')).cpuMs).toBeGreaterThanOrEqual(290);
  } finally {
    await remove(job);
  }
});

test.skipIf(!isRoot)(
  'what a dead launcher left is killed and removed, a living one’s stays [needs: root]',
  async () => {
    // Alive until the last moment: every sandbox of this host that begins removes what is stale, also those of other tests.
    const launcher = spawn('sleep', ['1000'], { stdio: 'ignore' });
    const pid = launcher.pid ?? 0;
    const stale = makeJob('stale', { pid, ticks: startTicksOf(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? 0 });
    const living = makeJob('living');
    let reused: Job | undefined;
    try {
      const child = runIn(stale, SURVIVOR);
      const ended = once(child, 'exit');
      const [said] = (await once(child.stdout, 'data')) as [Buffer];
      const survivor = Number(said.toString());

      launcher.kill('SIGKILL');
      await once(launcher, 'exit');
      reused = makeJob('reused', { pid: process.pid, ticks: ownTicks + 1 });
      const { removed, left } = await removeStale(stale.driver, files);

      const expected = [...stale.cgroups, ...reused.cgroups].map(({ directory }) => directory);
      expect(removed).toEqual(expect.arrayContaining(expected));
      expect(left).toEqual([]);
      expect(expected.filter((directory) => existsSync(directory))).toEqual([]);
      expect(living.cgroups.every(({ directory }) => existsSync(directory))).toBe(true);
      expect(await ended).toEqual([null, 'SIGKILL']);
      expect(stateOf(survivor)).toBeOneOf([undefined, 'Z']);
    } finally {
      launcher.kill('SIGKILL');
      for (const job of [stale, living, ...(reused === undefined ? [] : [reused])]) await remove(job);
    }
  },
);

/** It needs no controller to kill. */
const unified = parseCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8')).find(({ version }) => version === 2);

test.skipIf(!isRoot || unified?.root !== '/')('v2: all processes are killed at once [needs: root]', async () => {
  const directory = `${unified?.at}/test-${process.pid}`;
  mkdirSync(directory);
  const own: CgroupPlan = { directory, settings: [], counters: [] };
  const driver: V2Driver = { kind: 'v2', directory, controllers: [], files: [] };
  try {
    const child = runIn({ cgroups: [own], driver }, SURVIVOR);
    const ended = once(child, 'exit');
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    const survivor = Number(said.toString());

    const kills: number[] = [];
    await removeCgroup(directory, { ...files, sendKill: (pid) => kills.push(pid) });

    expect({ kills, isThere: existsSync(directory), ended: await ended }).toEqual({
      kills: [],
      isThere: false,
      ended: [null, 'SIGKILL'],
    });
    expect(stateOf(survivor)).toBeOneOf([undefined, 'Z']);
  } finally {
    await removeCgroup(directory, files);
  }
});

async function outputOf(child: Running): Promise<string> {
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await once(child, 'close');
  return output;
}

function stateOf(pid: number): string | undefined {
  return files.readText(`/proc/${pid}/stat`)?.split(') ').at(-1)?.[0];
}
