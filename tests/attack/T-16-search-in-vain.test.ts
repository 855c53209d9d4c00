/**
 * T-16: a tool's processes live on because its keeper finds none of them: they are more than it has time to go through, or are gone
 * before it has their numbers. Here it can look for nobody at all, for it may open no file.
 */
import { execFileSync } from 'node:child_process';
import { cpus, release } from 'node:os';
import { expect, test } from 'vitest';
import { as } from './sandbox-daemon.ts';
import { childrenOf, describeBothWays, processesWith, python, tierB, uniqueMark } from './sandboxed.ts';

/** Three of them, deaf, each in a session of its own and without the parent that it had; when all of them are there they run on, and many are a crowd. */
const FAMILY = `
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
count = int(sys.argv[1])
start, held = os.pipe()
for _ in range(count):
  if os.fork() == 0:
    os.close(held)
    os.setsid()
    if os.fork(): os._exit(0)
    os.read(start, 1)
    break
else:
  for _ in range(count): os.wait()
  os.close(held)
  os.write(1, b'ready')
while True:
  if count < 10: time.sleep(100)
`;

/** Older kernels have nothing but the search. */
const [major = 0, minor = 0] = release().split('.').map(Number);
const HAS_FENCES = major > 6 || (major === 6 && minor >= 15);

describeBothWays((place) => {
  test.each([
    ['a few', 3],
    ['a crowd', 35 * cpus().length],
  ])('%s: all of them are ended', async (_, count) => {
    const { daemon } = place();
    const mark = uniqueMark();
    const before = new Set(childrenOf(daemon.launcherPid));
    const started = daemon.start(
      python(FAMILY, String(count), mark),
      tierB(place(), { limits: { processes: 8 * count } }),
    );
    await expect.poll(() => started.text()).toBe('ready');
    const keepers = childrenOf(daemon.launcherPid).filter((pid) => !before.has(pid));
    for (const pid of HAS_FENCES ? keepers : []) {
      const [file = '', ...args] = as(place(), ['prlimit', '--nofile=0:0', '--pid', String(pid)]);
      execFileSync(file, args);
    }
    started.cancel();
    expect((await started.ended).kind).toBe('cancelled');
    expect(processesWith(mark)).toEqual([]);
  });
});
