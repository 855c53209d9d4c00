/**
 * T-16: something of a tool lives on after its end: a double fork, a new session, a deaf process, one that holds stdout
 * open; or after the end of the launcher or of the daemon.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Daemon, startDaemon } from './sandbox-daemon.ts';
import {
  cgroupsOf,
  childrenOf,
  describeBothWays,
  type Place,
  processesWith,
  python,
  sh,
  statusOf,
  tierB,
  tierC,
  uniqueMark,
  until,
} from './sandboxed.ts';

/** Leaves a deaf grandchild in a session of its own, which keeps stdout, and children of that; then ends or waits. */
const STRAY = `
import os, signal, sys, time
def deaf():
  for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE): signal.signal(number, signal.SIG_IGN)
ready, told = os.pipe()
if os.fork() == 0:
  os.setsid()
  if os.fork(): os._exit(0)
  deaf()
  os.setsid()
  for _ in range(3):
    if os.fork() == 0:
      os.setpgid(0, 0)
      break
  os.write(told, b'x')
  while True: time.sleep(100)
deaf()
for _ in range(4): os.read(ready, 1)
print('ready', flush=True)
if sys.argv[1] == 'ends': os._exit(0)
while True: time.sleep(100)
`;

const TIERS = [
  ['B', tierB],
  ['C', tierC],
] as const;

function mountsLeft(): readonly string[] {
  const table = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  return table.filter((line) => /palyra-attack|\/run\/palyra/.test(line));
}

/** A daemon of its own, in which stray trees run. */
async function startStrays(
  place: Place,
  profiles: readonly (typeof tierC)[],
): Promise<{ daemon: Daemon; mark: string }> {
  const daemon = await startDaemon(place);
  const mark = uniqueMark();
  for (const profile of profiles) {
    const started = daemon.start(python(STRAY, 'waits', mark), profile(place));
    await until('the stray tree runs', () => started.text().includes('ready'));
  }
  return { daemon, mark };
}

describeBothWays((place) => {
  test.each(TIERS)(
    'Tier %s: what outlives the main process is killed, and nobody waits for its stdout',
    async (_, profile) => {
      const mark = uniqueMark();
      const ended = await place().daemon.run(python(STRAY, 'ends', mark), profile(place()));
      expect([ended.kind, ended.detail, ended.stdout]).toEqual(['completed', '0', 'ready\n']);
      expect(processesWith(mark)).toEqual([]);
      await until('its cgroups are gone', () => cgroupsOf(place().daemon.launcherPid).length === 0);
    },
  );

  test.each(TIERS)('Tier %s: cancelling ends a whole deaf tree', async (_, profile) => {
    const mark = uniqueMark();
    const started = place().daemon.start(python(STRAY, 'waits', mark), profile(place()));
    await until('the stray tree runs', () => started.text().includes('ready'));
    expect(processesWith(mark).length).toBeGreaterThanOrEqual(5);
    started.cancel();
    expect((await started.ended).kind).toBe('cancelled');
    expect(processesWith(mark)).toEqual([]);
    await until('its cgroups are gone', () => cgroupsOf(place().daemon.launcherPid).length === 0);
  });

  test.each(TIERS)('Tier %s: a shell that traps every signal and forks on is cancelled', async (_, profile) => {
    const mark = uniqueMark();
    const deaf = `trap '' TERM INT HUP; echo ready; while :; do sh -c 'sleep 0.01; : ${mark}' & wait; done`;
    const started = place().daemon.start(sh(deaf), profile(place()));
    await until('it runs', () => started.text().includes('ready'));
    started.cancel();
    expect((await started.ended).kind).toBe('cancelled');
    expect(processesWith(mark)).toEqual([]);
  });

  test.each(TIERS)('Tier %s: the end of its time ends a whole deaf tree', async (_, profile) => {
    const mark = uniqueMark();
    const ended = await place().daemon.run(python(STRAY, 'waits', mark), profile(place(), { limits: { wallMs: 400 } }));
    expect([ended.kind, ended.detail]).toEqual(['timed_out', 'wall']);
    expect(processesWith(mark)).toEqual([]);
    await until('its cgroups are gone', () => cgroupsOf(place().daemon.launcherPid).length === 0);
  });

  test('kill -9 of the daemon ends everything, and leaves nothing', async () => {
    const { daemon, mark } = await startStrays(place(), [tierB, tierC]);
    await daemon.kill();
    await until('the launcher has ended', () => /^(?:|Z.*)$/.test(statusOf(daemon.launcherPid, 'State')));
    expect(processesWith(mark)).toEqual([]);
    expect(cgroupsOf(daemon.launcherPid)).toEqual([]);
    expect(mountsLeft()).toEqual([]);
  });

  test('kill -9 of the launcher ends everything; the next start removes what is left', async () => {
    const { daemon, mark } = await startStrays(place(), [tierB, tierC]);
    process.kill(daemon.launcherPid, 'SIGKILL');
    await until('nothing of the trees lives', () => processesWith(mark).length === 0);
    const refused = await daemon.run(sh('echo ran'), tierC(place()));
    expect([refused.kind, refused.detail]).toEqual(['failed_to_start', 'sandbox.launcher_failed']);
    await daemon.kill();
    await expectCleanAfterStart(place(), daemon);
  });

  test('kill -9 of launcher and keepers at once is made good at the next start', async () => {
    // Without a cgroup nothing holds what has left its family in Tier B.
    const held = place().daemon.cgroups === 'none' ? [tierC] : [tierB, tierC];
    const { daemon, mark } = await startStrays(place(), held);
    const ours = [daemon.launcherPid, ...childrenOf(daemon.launcherPid)];
    for (const pid of ours) process.kill(pid, 'SIGSTOP');
    for (const pid of ours) process.kill(pid, 'SIGKILL');
    await daemon.kill();
    await expectCleanAfterStart(place(), daemon);
    await until('nothing of the trees lives', () => processesWith(mark).length === 0);
  });
});

async function expectCleanAfterStart(place: Place, former: Daemon): Promise<void> {
  const next = await startDaemon(place);
  try {
    expect(cgroupsOf(former.launcherPid)).toEqual([]);
    expect(mountsLeft()).toEqual([]);
    expect(await next.run(sh('echo works'), tierC(place))).toMatchObject({ stdout: 'works\n' });
  } finally {
    await next.close();
  }
}
