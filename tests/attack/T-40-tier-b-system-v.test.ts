/**
 * T-40: a Tier B tool with the operator's own uid takes what lies in System V memory and queues of the operator's processes, which
 * no path leads to and Landlock does not know; and leaves some of its own behind, for others to find and nobody to remove.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { as } from './sandbox-daemon.ts';
import { describeBothWays, describeOrdinary, python, tierB, uniqueMark } from './sandboxed.ts';

const SECRET = uniqueMark();

const LIBRARY = `
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
PRIVATE, NEW, NOWHERE = 0, 0o1600, ctypes.c_void_p(-1).value
`;

/** An operator's program with a secret in its memory and one in its queue; both are gone when it is told to end. */
const KEEP = `${LIBRARY}
memory, queue = libc.shmget(PRIVATE, 4096, NEW), libc.msgget(PRIVATE, NEW)
ctypes.memmove(libc.shmat(memory, None, 0), b'${SECRET}', ${SECRET.length})
libc.msgsnd(queue, ctypes.create_string_buffer(b'\\1' + bytes(7) + b'${SECRET}'), ${SECRET.length}, 0)
print(memory, queue, flush=True)
sys.stdin.read()
libc.shmctl(memory, 0, None)
libc.msgctl(queue, 0, None)
`;

/** By number, as /proc/sysvipc lists them. */
const TAKE = `${LIBRARY}
memory, queue = (int(each) for each in sys.argv[1:])
at = libc.shmat(memory, None, 0)
print('memory', at not in (None, NOWHERE) and ctypes.string_at(at).decode())
got = ctypes.create_string_buffer(200)
print('queue', libc.msgrcv(queue, got, 100, 0, 0o4000) > 0 and got.raw[8:].rstrip(b'\\0').decode())
`;

const LEAVE = `${LIBRARY}
print(libc.shmget(PRIVATE, 4096, NEW), libc.msgget(PRIVATE, NEW), libc.semget(PRIVATE, 1, NEW))
`;

describeOrdinary((place) => {
  const start = (...argv: readonly string[]) => {
    const [file = '', ...args] = as(place(), argv);
    return spawn(file, args, { env: { PATH: '/usr/bin:/bin' }, stdio: ['pipe', 'pipe', 'inherit'] });
  };

  test('neither the memory nor the queue of the operator’s program is read; outside of a sandbox both are', async () => {
    const keeper = start('python3', '-c', KEEP);
    const [numbers] = await once(keeper.stdout, 'data');
    const theirs = String(numbers).trim().split(' ');
    const { stdout } = await place().daemon.run(python(TAKE, ...theirs), tierB(place()));
    const outside = start('python3', '-c', TAKE, ...theirs);
    const [had] = await once(outside.stdout, 'data');
    keeper.stdin.end();
    await Promise.all([once(keeper, 'close'), once(outside, 'close')]);

    expect(String(had)).toBe(`memory ${SECRET}\nqueue ${SECRET}\n`);
    expect(stdout).toBe('memory False\nqueue False\n');
  });
});

describeBothWays((place) => {
  test('none of its own can be made, so none is left behind', async () => {
    const { stdout } = await place().daemon.run(python(LEAVE), tierB(place()));
    expect(stdout).toBe('-1 -1 -1\n');
  });
});
