// T-17: a tool takes all there is: processes, files, descriptors, output, CPU time, memory. Each end has its own name.
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Ended } from './sandbox-daemon.ts';
import {
  describeBothWays,
  type Place,
  type ProfileChanges,
  processesWith,
  python,
  sh,
  statusOf,
  textOf,
  tierB,
  tierC,
  uniqueMark,
  until,
} from './sandboxed.ts';

const MIB = 1024 * 1024;
const TIERS = [
  ['B', tierB],
  ['C', tierC],
] as const;

const named = ({ kind, detail }: Ended) => `${kind} ${detail}`;
const hasCgroups = ({ daemon }: Place) => daemon.cgroups !== 'none';

const FORK_UNTIL_REFUSED = `
import os, sys, time
made = 0
while made < 5000:
  try:
    if os.fork() == 0:
      while True: time.sleep(100)
    made += 1
  except OSError: break
print(made, flush=True)
os._exit(int(sys.argv[1]))
`;

const BOMB = `
import os
print('ready', flush=True)
while True:
  try: os.fork()
  except OSError: pass
`;

const OPEN_UNTIL_REFUSED = `
import errno, os
count = 0
try:
  while True: os.open('/dev/null', os.O_RDONLY); count += 1
except OSError as error: print(errno.errorcode[error.errno], count + 3)
`;

const BURN = `
import os, sys
for _ in range(int(sys.argv[1])): os.fork()
while True: pass
`;

/** Touches all that it takes, so that none of it is only a promise. */
const BALLOON = `
import sys
taken = []
while len(taken) < 1024: taken.append(bytearray(b'x' * (1 << 20)))
`;

const MANY_BALLOONS = `
import os, sys, time
for _ in range(8):
  if os.fork() == 0:
    taken = bytearray(b'x' * (24 << 20))
    time.sleep(100)
sys.exit(1 if os.wait()[1] else 0)
`;

const FLOOD = `
import os, sys
while True:
  os.write(1, b'o' * 65536)
  os.write(2, b'e' * 65536)
`;

/** Says in a file how much it could write. */
const COUNTED_FLOOD = `
import os
done = 0
count = os.open('written', os.O_CREAT | os.O_WRONLY)
while True:
  done += os.write(1, b'o' * 65536)
  os.pwrite(count, str(done).encode(), 0)
`;

describeBothWays((place) => {
  const run = (tier: typeof tierC, command: ReturnType<typeof sh>, changes: ProfileChanges) =>
    place().daemon.run(command, tier(place(), changes));

  test.each(TIERS)('Tier %s: processes', async (tier, profile) => {
    const limits = { processes: 24 };
    const ended = await run(profile, python(FORK_UNTIL_REFUSED, '7'), { limits });
    // Without a cgroup a user's processes are counted wherever they came from, and in Tier B that is the whole host.
    const most = hasCgroups(place()) || tier === 'C' ? 24 : 1000;
    expect(Number(ended.stdout)).toBeGreaterThan(10);
    expect(Number(ended.stdout)).toBeLessThanOrEqual(most);
    expect(named(ended)).toBe(hasCgroups(place()) ? 'quota_exceeded processes' : 'completed 7');

    const coped = await run(profile, python(FORK_UNTIL_REFUSED, '0'), { limits });
    expect(named(coped)).toBe('completed 0');
  });

  test.each(TIERS)('Tier %s: a fork bomb ends with its time, and nothing of it is left', async (_, profile) => {
    const mark = uniqueMark();
    const ended = await run(profile, python(BOMB, mark), { limits: { processes: 24, wallMs: 500 } });
    expect([named(ended), ended.stdout]).toEqual(['timed_out wall', 'ready\n']);
    expect(processesWith(mark)).toEqual([]);
  });

  test.each(TIERS)('Tier %s: ten gibibytes into a file', async (_, profile) => {
    const file = join(place().workspace, 'big');
    const write = { argv: ['dd', 'if=/dev/zero', 'of=big', 'bs=1M', 'count=10240'] };
    expect(named(await run(profile, write, { limits: { fileBytes: 8 * MIB } }))).toBe('quota_exceeded file_size');
    expect(statSync(file).size).toBe(8 * MIB);
    rmSync(file);

    const inShell = sh('dd if=/dev/zero of=big bs=1M count=10240 2>/dev/null');
    expect(named(await run(profile, inShell, { limits: { fileBytes: 8 * MIB } }))).toBe('quota_exceeded file_size');
    rmSync(file);
  });

  test.each(['/tmp/big', '/dev/shm/big', '"$HOME/big"'])('Tier C: ten gibibytes into %s', async (path) => {
    const write = sh(`dd if=/dev/zero of=${path} bs=1M count=10240 2>&1; code=$?; stat -c %s ${path}; exit $code`);
    const ended = await run(tierC, write, { limits: { tmpfsBytes: 8 * MIB } });
    expect(named(ended)).toBe('quota_exceeded disk');
    expect(Number(ended.stdout.trim().split('\n').at(-1))).toBeLessThanOrEqual(8 * MIB);

    const copes = sh(`dd if=/dev/zero of=${path} bs=1M count=10240 2>/dev/null; rm ${path}`);
    expect(named(await run(tierC, copes, { limits: { tmpfsBytes: 8 * MIB } }))).toBe('completed 0');
  });

  test('Tier C: nothing can be written where there is no limit', async () => {
    const places = '/ /dev /dev/pts /run /etc /var /home /usr /proc /sys /mnt /opt';
    const attempts = `for at in ${places}; do echo x 2>/dev/null > $at/big && echo "$at"; done; echo end`;
    expect((await run(tierC, sh(attempts), {})).stdout).toBe('end\n');
  });

  test.each(TIERS)('Tier %s: descriptors', async (_, profile) => {
    const ended = await run(profile, python(OPEN_UNTIL_REFUSED), { limits: { openFiles: 100 } });
    expect([named(ended), ended.stdout]).toEqual(['completed 0', 'EMFILE 100\n']);
  });

  test.each(TIERS)('Tier %s: a flood on both streams', async (_, profile) => {
    const ended = await run(profile, python(FLOOD), { limits: { outputBytes: MIB } });
    expect(named(ended)).toBe('quota_exceeded output');
    expect(ended.stdout.length + ended.stderr.length).toBe(MIB);
    expect(ended.stdout.length).toBeGreaterThan(0);
    expect(ended.stderr.length).toBeGreaterThan(0);
  });

  test.each(TIERS)(
    'Tier %s: a flood that nobody reads makes the tool wait, not the daemon grow',
    async (_, profile) => {
      const mark = uniqueMark();
      const command = python(COUNTED_FLOOD, mark);
      const flood = place().daemon.start(command, profile(place(), { limits: { outputBytes: 4096 * MIB } }), {
        holdOutput: true,
      });
      await flood.running;
      const file = join(place().workspace, 'written');
      // The same for many looks in a row: it does not go on slowly.
      let [before, same] = ['', 0];
      await until('the tool waits', () => {
        const now = textOf(file);
        same = now !== '' && now === before ? same + 1 : 0;
        before = now;
        return same === 40;
      });
      expect(Number(before)).toBeLessThan(2 * MIB);
      expect(processesWith(mark).length).toBeGreaterThan(0);
      expect(Number.parseInt(statusOf(place().daemon.launcherPid, 'VmHWM'), 10)).toBeLessThan(64 * 1024);
      flood.cancel();
      expect((await flood.ended).kind).toBe('cancelled');
      rmSync(file);
    },
  );

  test.each(TIERS)('Tier %s: CPU time, of one process and of many', async (_, profile) => {
    const limits = { cpuMs: 1000 };
    expect(named(await run(profile, python(BURN, '0'), { limits }))).toBe('quota_exceeded cpu');
    expect(named(await run(profile, python(BURN, '1'), { limits }))).toBe('quota_exceeded cpu');
  });

  test('CPU time of a process that does not heed the warning', async () => {
    const deaf = 'import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)';
    expect(named(await run(tierC, python(`${deaf}\nwhile True: pass`), { limits: { cpuMs: 1000 } }))).toBe(
      'quota_exceeded cpu',
    );
  });

  test.each(TIERS)('Tier %s: memory of one process', async (_, profile) => {
    const ended = await run(profile, python(BALLOON), { limits: { memoryBytes: 96 * MIB } });
    expect(named(ended)).toBe(hasCgroups(place()) ? 'quota_exceeded memory' : 'completed 1');
  });

  test.each(TIERS)('Tier %s: memory of many processes, where a cgroup counts them together', async (_, profile) => {
    if (!hasCgroups(place())) return;
    const ended = await run(profile, python(MANY_BALLOONS), { limits: { memoryBytes: 96 * MIB, wallMs: 5000 } });
    expect(named(ended)).toBe('quota_exceeded memory');
  });
});
