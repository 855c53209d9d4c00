/**
 * T-16: hundreds of a tool's processes go on after it was cancelled, because each dies only when another one has, and that one
 * has to wait for a processor among them all. Here who would have to die first is held, and cannot.
 */
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { afterEach, expect, test } from 'vitest';
import { parseCgroupMounts } from '../../packages/sandbox/src/cgroup/parse-cgroup-mounts.ts';
import type { LaunchPlan } from '../../packages/sandbox/src/launch-plan.ts';
import { inBubblewrap, launch, openLauncher, python } from '../integration/launched-job.ts';
import { childrenOf, IS_ROOT, processesWith, statusOf, textOf, uniqueMark, until } from './sandboxed.ts';

/** Three of them, each in a session of its own. */
const FAMILY = `
import os, time
for _ in range(2):
  if os.fork() == 0: os.setsid()
  else: break
os.write(1, b'x')
while True: time.sleep(100)
`;

const mounts = parseCgroupMounts(textOf('/proc/self/mountinfo'));
const freezer = mounts.find(({ version, controllers }) => version === 1 && controllers.includes('freezer'));
const unified = mounts.find(({ version, root }) => version === 2 && root === '/');

const releases: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const release of releases.splice(0)) await release();
});

/** Not even SIGKILL ends it until it is let go. Where only cgroup v2 is, that ends what is frozen, and nobody is held. */
function hold(pid: number): () => void {
  if (freezer === undefined) return () => undefined;
  const directory = `${freezer.at}/test-${process.pid}-${pid}`;
  const letGo = () => writeFileSync(`${directory}/freezer.state`, 'THAWED');
  mkdirSync(directory);
  releases.push(async () => {
    letGo();
    await until('who was held is gone', () => textOf(`${directory}/cgroup.procs`) === '');
    rmdirSync(directory);
  });
  writeFileSync(`${directory}/cgroup.procs`, String(pid));
  writeFileSync(`${directory}/freezer.state`, 'FROZEN');
  return letGo;
}

async function startFamily(
  launcher: Awaited<ReturnType<typeof openLauncher>>,
  program: string,
  changes: Partial<LaunchPlan>,
) {
  const mark = uniqueMark();
  const plan = python(program, changes);
  const argv = [...plan.tool.argv, mark] as const;
  const job = launch(launcher, { ...plan, tool: { ...plan.tool, argv } });
  await job.untilOutput('xxx');
  const [keeper = 0] = childrenOf(launcher.about.pid);
  return { job, keeper, family: () => processesWith(mark) };
}

/** With one outside of the sandbox's own processes that has its arguments too: bubblewrap. */
const TIERS = [
  ['without a sandbox', {}],
  ['in a sandbox', inBubblewrap('--unshare-user --unshare-pid --die-with-parent')],
] as const;

test.skipIf(!IS_ROOT).each(TIERS)('%s nobody waits for another one’s death [needs: root]', async (_, changes) => {
  await using launcher = await openLauncher();
  const { job, keeper, family } = await startFamily(launcher, FAMILY, changes);
  const [first = 0] = childrenOf(keeper);
  const letGo = hold(first);
  try {
    job.kill();
    await until('all others are dead', () => family().every((pid) => pid === first));
  } finally {
    letGo();
  }
  const ended = await job.ended;
  expect(ended.kind === 'ended' && ended.report.reason).toBe('cancelled');
  expect(family()).toEqual([]);
});

test.skipIf(!IS_ROOT || unified === undefined)(
  'in a cgroup that can be killed nobody waits for the keeper [needs: root]',
  async () => {
    const directory = `${unified?.at}/palyra-test-${process.pid}`;
    await using launcher = await openLauncher();
    const { job, keeper, family } = await startFamily(launcher, FAMILY, {
      cgroups: [{ directory, settings: [], counters: [] }],
    });
    expect(family().length).toBe(3);
    process.kill(keeper, 'SIGSTOP');
    await until('the keeper is held', () => statusOf(keeper, 'State').startsWith('T'));
    try {
      job.kill();
      await until('nobody lives', () => family().length === 0);
    } finally {
      process.kill(keeper, 'SIGCONT');
    }
    const ended = await job.ended;
    expect(ended.kind === 'ended' && ended.report.reason).toBe('cancelled');
  },
);

/** More than a processor has turns for, each in a session of its own, and so each with a share of its own. */
const CROWD = `
import os
start, held = os.pipe()
for _ in range(${45 * cpus().length}):
  if os.fork() == 0:
    os.close(held)
    os.setsid()
    os.read(start, 1)
    break
else:
  os.close(held)
  os.write(1, b'xxx')
while True: pass
`;

/** The keeper, which has to wait for its turn among them, is held for as long as that could be. */
test.skipIf(!IS_ROOT)('a crowd in a sandbox dies before its keeper has a turn [needs: root]', async () => {
  await using launcher = await openLauncher();
  const { job, keeper, family } = await startFamily(launcher, CROWD, inBubblewrap('--unshare-user --unshare-pid'));
  expect(family().length).toBeGreaterThan(45 * cpus().length);
  process.kill(keeper, 'SIGSTOP');
  job.kill();
  try {
    await until('nobody lives', () => family().every((pid) => textOf(`/proc/${pid}/comm`) !== 'python3\n'));
  } finally {
    process.kill(keeper, 'SIGCONT');
  }
  const ended = await job.ended;
  expect(ended.kind === 'ended' && ended.report.reason).toBe('cancelled');
  expect(family()).toEqual([]);
});
