/**
 * T-16: a tool takes turns as short as the launcher's, for itself or for its children, and whoever has to end hundreds of such
 * processes waits a second for a turn of its own.
 */
import { release } from 'node:os';
import { removeOrdinaryUser } from '@palyra/testkit';
import { afterAll, describe, expect, test } from 'vitest';
import { startServicePlace } from '../service/service-place.ts';
import { describeBothWays, IS_ROOT, python, tierB, tierC } from './sandboxed.ts';

const TAKE_SHORT_TURNS = `
import ctypes, errno, os, struct
libc = ctypes.CDLL(None, use_errno=True)
SET, GET, SET_SCHEDULER = (314, 315, 144) if os.uname().machine == 'x86_64' else (274, 275, 119)
SCHED_OTHER, SCHED_RESET_ON_FORK = 0, 0x40000000
def attr(runtime): return ctypes.create_string_buffer(struct.pack('IIQiIQQQII', 56, SCHED_OTHER, 0, 0, 0, runtime, 0, 0, 0, 0))
def turns():
  now = attr(0)
  libc.syscall(GET, 0, now, 56, 0)
  return struct.unpack_from('Q', now, 24)[0]
def said(result): return errno.errorcode[ctypes.get_errno()] if result else 'done'
print(turns())
print(said(libc.syscall(SET, 0, attr(100000), 0)))
print(said(libc.syscall(SET_SCHEDULER, 0, SCHED_OTHER | SCHED_RESET_ON_FORK, struct.pack('i', 0))))
print(said(libc.syscall(SET_SCHEDULER, 0, SCHED_OTHER, struct.pack('i', 0))), flush=True)
if os.fork() == 0:
  print(turns(), flush=True)
  os._exit(0)
os.wait()
`;

/** Nanoseconds; older kernels have the same for everybody, and say none. */
const [major = 0, minor = 0] = release().split('.').map(Number);
const GIVEN = major > 6 || (major === 6 && minor >= 12) ? '10000000' : '0';

const TIERS = [
  ['B', tierB],
  ['C', tierC],
] as const;

describeBothWays((place) => {
  test.each(TIERS)('Tier %s: the turns that it was given stay its own and its children’s', async (_, profile) => {
    const { stdout } = await place().daemon.run(python(TAKE_SHORT_TURNS), profile(place()));
    expect(stdout.split('\n')).toEqual([GIVEN, 'EPERM', 'EPERM', 'done', GIVEN, '']);
  });
});

/** Nobody's of these may set the turns of another user's process. */
const UNIT = 'setuid,setgid,chown,sys_admin,sys_ptrace,kill,sys_resource'.split(',').map((name) => `+${name}`);

describe.runIf(IS_ROOT)('palyrad as a service [needs: root]', () => {
  afterAll(removeOrdinaryUser);

  test('a tool has them there, too', async () => {
    const through = ['setpriv', '--no-new-privs', `--bounding-set=${['-all', ...UNIT].join(',')}`];
    const place = await startServicePlace({ through });
    const input = { argv: ['python3', '-c', TAKE_SHORT_TURNS] };
    const called = place.tell<{ outcome: { stdout: string } }>({ act: 'call', tool: 'palyra.process.run', input });
    const { stdout } = (await called).outcome;
    await place.close();
    expect(stdout.split('\n')).toEqual([GIVEN, 'EPERM', 'EPERM', 'done', GIVEN, '']);
  });
});
