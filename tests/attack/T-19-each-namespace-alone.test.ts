/**
 * T-19: what is the host's reaches the tool through a namespace that is shared: memory, processes, the network, names, and as
 * root's the powers of root. Each option of the box is shown to stop it alone: without the filter, without the launcher and
 * without a comparison of facts, the attack works where only this one is missing.
 */

import { BOX_USER } from '@palyra/sandbox';
import { beforeAll, expect, test } from 'vitest';
import { type BoxChanges, changed, type Option, type PlannedBox, planBox, runBox } from './planned-box.ts';
import { describeBothWays, describeRoot, type Place, uniqueMark } from './sandboxed.ts';

const SECRET = uniqueMark();

/** What is the operator's, while the box runs: a segment of memory, a process, a listener. Its arguments are the attack's last. */
const OPERATOR = `
import ctypes, os, signal, socket, subprocess, sys
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
IPC_CREAT, IPC_RMID = 0o1000, 0
key = 0x50000000 + os.getpid()
segment = libc.shmget(key, 4096, IPC_CREAT | 0o600)
ctypes.memmove(libc.shmat(segment, None, 0), b'${SECRET}', ${SECRET.length})
worker = subprocess.Popen(['sleep', '1000'])
listener = socket.create_server(('127.0.0.1', 0))
facts = [str(key), str(worker.pid), str(listener.getsockname()[1]), os.uname().nodename, os.readlink('/proc/self/ns/cgroup')]
try: subprocess.run([*sys.argv[1:], *facts], close_fds=False)
finally:
  libc.shmctl(segment, IPC_RMID, None)
  # It ends by what came first.
  worker.kill()
  print('worker', 'was ended' if worker.wait() == -signal.SIGTERM else 'lives')
`;

/** One line for each of them: what was had of the operator's, or why not. */
const ATTACK = `
import ctypes, errno, os, signal, socket, sys
key, pid, port = (int(each) for each in sys.argv[1:4])
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
def memory():
  segment = libc.shmget(key, 0, 0)
  if segment == -1: raise OSError(ctypes.get_errno(), '')
  return ctypes.string_at(libc.shmat(segment, None, 0), ${SECRET.length}).decode()
def process():
  os.kill(pid, signal.SIGTERM)
  return 'signalled'
def network():
  socket.create_connection(('127.0.0.1', port)).close()
  return 'connected'
def attempt(name, act):
  try: print(name, act())
  except OSError as error: print(name, errno.errorcode[error.errno])
attempt('memory', memory)
attempt('process', process)
attempt('network', network)
print('name', 'known' if os.uname().nodename == sys.argv[4] else os.uname().nodename)
print('cgroups', 'shared' if os.readlink('/proc/self/ns/cgroup') == sys.argv[5] else 'own')
sys.stdout.flush()
`;

const STOPPED = {
  memory: 'ENOENT',
  process: 'ESRCH',
  network: 'ECONNREFUSED',
  name: 'palyra',
  cgroups: 'own',
  worker: 'lives',
};

/** Which options, and what the attack has then. */
const NAMESPACES: readonly (readonly [string, BoxChanges, Partial<typeof STOPPED>])[] = [
  ['--unshare-ipc', { without: [['--unshare-ipc']] }, { memory: SECRET }],
  [
    '--unshare-pid',
    // Of a shared one there can be no /proc of its own, and bubblewrap cannot forbid what it forbids through that.
    {
      without: [['--unshare-pid'], ['--disable-userns']],
      instead: [
        [
          ['--proc', '/proc'],
          ['--ro-bind', '/proc', '/proc'],
        ],
      ],
    },
    { process: 'signalled', worker: 'was ended' },
  ],
  ['--unshare-net', { without: [['--unshare-net']] }, { network: 'connected' }],
  ['--unshare-uts', { without: [['--unshare-uts'], ['--hostname', 'palyra']] }, { name: 'known' }],
  ['--unshare-cgroup', { without: [['--unshare-cgroup']] }, { cgroups: 'shared' }],
];

async function attack(place: Place, box: PlannedBox): Promise<Readonly<Record<string, string>>> {
  const through = ['/usr/bin/python3', '-c', OPERATOR];
  const { stdout, stderr } = await runBox(place, box, ['/usr/bin/python3', '-c', ATTACK], { through });
  const lines = `${stdout}${stderr}`.trim().split('\n');
  return Object.fromEntries(lines.map((line) => [line.split(' ', 1)[0], line.slice(line.indexOf(' ') + 1)]));
}

describeBothWays((place) => {
  let box: PlannedBox;
  beforeAll(async () => {
    box = await planBox(place());
  });

  test('with all of them nothing is had of the operator’s', async () => {
    expect(await attack(place(), box)).toEqual(STOPPED);
  });

  test.each(NAMESPACES)('%s is what stops it: without it this is had, and nothing else', async (_, changes, had) => {
    expect(await attack(place(), changed(box, changes))).toEqual({ ...STOPPED, ...had });
  });
});

describeRoot((place) => {
  /** Gives a file of its own to somebody else, which only root may, and only of the host's. */
  const GIVE_AWAY = `
import errno, os
os.close(os.open('/tmp/file', os.O_CREAT | os.O_WRONLY))
try: os.chown('/tmp/file', 64321, 64321); print('done')
except OSError as error: print(errno.errorcode[error.errno])
`;
  const [UID, GID]: readonly [Option, Option] = [
    ['--uid', String(BOX_USER.uid)],
    ['--gid', String(BOX_USER.gid)],
  ];

  test('--unshare-user: what root can do is not what root of the box can do', async () => {
    const powerful = changed(await planBox(place()), { without: [['--cap-drop', 'ALL'], ['--disable-userns']] });
    const run = async (changes: BoxChanges) =>
      (await runBox(place(), changed(powerful, changes), ['/usr/bin/python3', '-c', GIVE_AWAY])).stdout;
    const asRoot: BoxChanges['instead'] = [
      [UID, ['--uid', '0']],
      [GID, ['--gid', '0']],
    ];
    expect(await run({ instead: asRoot })).toBe('EINVAL\n');
    // Without a namespace nobody has another name than who runs it, and bubblewrap refuses to give one.
    expect(await run({ without: [['--unshare-user'], UID, GID] })).toBe('done\n');
  });
});
