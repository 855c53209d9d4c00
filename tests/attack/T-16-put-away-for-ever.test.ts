/**
 * T-16: whoever puts away what ended sandboxes leave was forked from the launcher with all that it had open. If it kept that, a tool
 * would wait for an end of its input, and palyrad for the end of the launcher, for as long as the kernel takes. Here it takes for ever.
 */
import { readdirSync, readlinkSync, rmdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseCgroupMounts } from '../../packages/sandbox/src/cgroup/parse-cgroup-mounts.ts';
import { encodeRequest } from '../../packages/sandbox/src/launcher/encode-request.ts';
import { FROM_LAUNCHER, TO_LAUNCHER } from '../../packages/sandbox/src/launcher/wire.ts';
import { barePlan, launcherProgram, shell } from '../integration/launched-job.ts';
import { startRawLauncher } from '../integration/raw-launcher.ts';
import { neverAnswered } from './never-answered.ts';
import { childrenOf, IS_ROOT, textOf, until } from './sandboxed.ts';

/** As long as nobody would wait. */
const HELD_S = 50;
/** On arm64 that is `unlinkat`. */
const RMDIR = { x64: 84, arm64: 35 };

const pids = parseCgroupMounts(textOf('/proc/self/mountinfo')).find(
  ({ version, controllers, root }) => root === '/' && (version === 2 || controllers.includes('pids')),
);

const openFiles = (pid: number) => readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));

test.skipIf(!IS_ROOT)('nobody waits for who puts away, and waits for ever [needs: root]', async () => {
  const directory = `${pids?.at}/palyra-put-away-${process.pid}`;
  await using launcher = await startRawLauncher([...neverAnswered(RMDIR, HELD_S), launcherProgram()]);
  const { pid } = launcher;
  const first = (job: number, wanted: number) => launcher.frame((frame) => frame.job === job && frame.kind === wanted);
  const begin = async (job: number, request: Buffer) => {
    launcher.send(TO_LAUNCHER.start, job, request);
    await first(job, FROM_LAUNCHER.facts);
    launcher.send(TO_LAUNCHER.go, job);
  };
  await begin(1, encodeRequest(barePlan(['/bin/cat']), { stdin: true }));
  const [keeper = 0] = childrenOf(pid);
  const cgroups = [{ directory, settings: [], counters: [] }];
  await begin(2, encodeRequest(shell('exit 7', { cgroups }), { stdin: false }));
  await first(2, FROM_LAUNCHER.ended);

  let sweeper = 0;
  await until('somebody puts away', () => {
    const others = childrenOf(pid).filter((child) => child !== keeper);
    sweeper = others.find((child) => textOf(`/proc/${child}/wchan`).includes('seccomp')) ?? 0;
    return others.length === 1 && sweeper > 0;
  });
  try {
    expect(openFiles(sweeper).filter((target) => !target.startsWith('mnt:'))).toEqual([]);
    // The end of its input, of which nobody else has the other side.
    launcher.send(TO_LAUNCHER.stdinEnd, 1);
    await first(1, FROM_LAUNCHER.ended);
    await begin(3, encodeRequest(shell('exit 0'), { stdin: false }));
    await first(3, FROM_LAUNCHER.ended);
  } finally {
    process.kill(sweeper, 'SIGKILL');
    await launcher.close();
    rmdirSync(directory);
  }
});
