/**
 * T-43: a filtered tool takes over a process of the sandbox that has no filter, through /proc/PID/mem: bubblewrap's init,
 * or a helper of ours.
 */
import { readlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Started } from './sandbox-daemon.ts';
import {
  describeBothWays,
  processesWith,
  processIds,
  python,
  sh,
  statusOf,
  textOf,
  tierC,
  uniqueMark,
  until,
} from './sandboxed.ts';

/** Puts code into pid 1 that asks for a user namespace and for a Unix socket, where it lets itself be written to. */
const TAKE_OVER = `
import os, re, time
# unshare(CLONE_NEWUSER); socket(AF_UNIX, SOCK_STREAM, 0); then again and again, so that pid 1 goes on living.
code = bytes.fromhex('b810010000bf000000100f05' 'b829000000bf01000000be0100000031d20f05' 'ebdf')
said = 'closed'
try:
  maps = open('/proc/1/maps').read().splitlines()
  memory = os.open('/proc/1/mem', os.O_RDWR)
  for line in maps:
    found = re.match(r'([0-9a-f]+)-([0-9a-f]+) r-xp', line)
    if not found: continue
    start, end = (int(each, 16) for each in found.groups())
    os.pwrite(memory, (b'\\x90' * (end - start - len(code))) + code, start)
    said = 'written'
except OSError as error: said = 'closed'
print(said, flush=True)
while True: time.sleep(100)
`;

/** Has children and grandchildren, in sessions of their own too. */
const FAMILY = `
import os, time
ready, told = os.pipe()
for _ in range(3):
  if os.fork() == 0:
    os.setsid()
    os.fork()
    os.write(told, b'x')
    while True: time.sleep(100)
for _ in range(6): os.read(ready, 1)
print('ready', flush=True)
while True: time.sleep(100)
`;

interface Inhabitant {
  readonly pid: number;
  readonly name: string;
  readonly seccomp: string;
  readonly filters: string;
  readonly noNewPrivileges: string;
}

/** All processes of the box in which the marked one is, as the host sees them. */
function inhabitantsWith(mark: string): readonly Inhabitant[] {
  const namespaceOf = (pid: number) => {
    try {
      return readlinkSync(`/proc/${pid}/ns/pid`);
    } catch {
      return undefined;
    }
  };
  const [marked = 0] = processesWith(mark);
  const namespace = namespaceOf(marked);
  return processIds()
    .filter((pid) => namespace !== undefined && namespaceOf(pid) === namespace)
    .map((pid) => ({
      pid: Number(statusOf(pid, 'NSpid').split(/\s+/).at(-1)),
      name: textOf(`/proc/${pid}/comm`).trim(),
      seccomp: statusOf(pid, 'Seccomp'),
      filters: statusOf(pid, 'Seccomp_filters'),
      noNewPrivileges: statusOf(pid, 'NoNewPrivs'),
    }))
    .toSorted((a, b) => a.pid - b.pid);
}

const FILTERED = { seccomp: '2', filters: '1', noNewPrivileges: '1' };

async function end(started: Started): Promise<void> {
  started.cancel();
  await started.ended;
}

describeBothWays((place) => {
  test('nobody is in the box but init and the tool, and both have the filter', async () => {
    const mark = uniqueMark();
    const started = place().daemon.start(sh(`exec python3 -c 'import time; time.sleep(100)' ${mark}`), tierC(place()));
    await started.running;
    await until('the tool runs', () => inhabitantsWith(mark).at(-1)?.name.startsWith('python3') === true);
    const found = inhabitantsWith(mark);
    await end(started);
    expect(found).toMatchObject([
      { pid: 1, name: 'bwrap', ...FILTERED },
      { pid: 2, ...FILTERED },
    ]);
    expect(found).toHaveLength(2);
  });

  test('before the tool’s first instruction the facts say so of both', async () => {
    const { outcome } = await place().daemon.run(sh('true'), tierC(place()));
    const processes = 'facts' in outcome ? outcome.facts?.processes : undefined;
    expect(processes).toMatchObject([
      { role: 'tool', seccomp: 2, noNewPrivileges: true },
      { role: 'init', seccomp: 2, noNewPrivileges: true },
    ]);
  });

  test('init has the limits of the tool, so that there is nothing to gain by becoming it', async () => {
    const limits =
      'for pid in 1 self; do cut -c 1-60 /proc/$pid/limits | grep -v "stack\\|Limit" > $pid; done; diff 1 self';
    const { outcome, stdout } = await place().daemon.run(sh(`cd /tmp; ${limits}`), tierC(place()));
    expect(outcome).toMatchObject({ kind: 'completed', exitCode: 0 });
    expect(stdout).toBe('');
  });

  test('children and grandchildren have it, wherever they went', async () => {
    const mark = uniqueMark();
    const started = place().daemon.start(python(FAMILY, mark), tierC(place()));
    await until('the family is complete', () => started.text().includes('ready'));
    const found = inhabitantsWith(mark);
    await end(started);
    expect(found).toHaveLength(8);
    expect(found).toMatchObject(found.map(() => FILTERED));
  });

  test('whoever takes over init gets nothing by it: it has the filter, and no namespace or socket of its own', async () => {
    const mark = uniqueMark();
    const started = place().daemon.start(python(TAKE_OVER, mark), tierC(place()));
    await until('the attack is over', () => started.text() !== '');
    const hostPids = processesWith(mark).flatMap((pid) => Number(statusOf(pid, 'PPid')));
    const [init = 0] = hostPids;
    // Some time for what was written to run.
    for (let look = 0; look < 20; look += 1) {
      const found = inhabitantsWith(mark);
      expect(found).toMatchObject(found.map(() => FILTERED));
      expect(found[0]?.pid).toBe(1);
    }
    const namespaces = [init, ...processesWith(mark)].map((pid) => readlinkSync(`/proc/${pid}/ns/user`));
    const text = started.text();
    await end(started);
    expect(text).toMatch(/^(?:closed|written)\n$/);
    expect(new Set(namespaces).size).toBe(1);
  });
});
