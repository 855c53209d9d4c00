/**
 * T-40: a Tier B tool with the operator's own uid reads keys and tokens, reaches into the launcher or the daemon, or ends
 * them; and a stranger speaks to the launcher.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { getPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { findWrapped, WRAP_PROFILES } from '@palyra/agents';
import { beforeAll, expect, test } from 'vitest';
import { as } from './sandbox-daemon.ts';
import {
  childrenOf,
  describeOrdinary,
  IS_ROOT,
  type Place,
  python,
  statusOf,
  tierB,
  uniqueMark,
  until,
} from './sandboxed.ts';

const SECRET = uniqueMark();
const KEPT = [
  '.palyra/keys/checkpoint',
  '.ssh/id_ed25519',
  '.aws/credentials',
  '.netrc',
  '.config/gh/hosts.yml',
  '.gnupg/key',
  // Logins, sessions and settings of every agent that we know.
  ...WRAP_PROFILES.flatMap((name) => Object.values(findWrapped(name)?.profile.state ?? {}).flat()),
];

/** What it could read and what it could write or remove, of the names that are given. */
const READ_AND_WRITE = `
import os, sys
for path in NAMES:
  for base in ('', '/proc/self/root', '/proc/thread-self/root', '/proc/self/cwd/../../../../..', '//'):
    try: print('read', base + path, open(base + path).read())
    except OSError: pass
  try: os.close(os.open(path, os.O_WRONLY)); print('opened', path)
  except OSError: pass
  try: os.truncate(path, 0); print('truncated', path)
  except OSError: pass
  try: os.rename(path, 'stolen'); print('moved', path)
  except OSError: pass
  try: os.link(path, 'linked'); print(open('linked').read())
  except OSError: pass
  try: os.unlink(path); print('removed', path)
  except OSError: pass
  try: print(os.listdir(os.path.dirname(path)))
  except OSError: pass
print('end')
`;

const REACH_INTO = `
import ctypes, os, signal
libc = ctypes.CDLL(None)
done = []
def attempt(name, act):
  try:
    if act() != -1: done.append(name)
  except OSError: pass
for pid in PIDS:
  attempt(f'attach {pid}', lambda: libc.ptrace(16, pid, 0, 0))
  attempt(f'seize {pid}', lambda: libc.ptrace(0x4206, pid, 0, 0))
  for file in ('mem', 'environ', 'maps', 'stack', 'syscall', 'auxv'):
    attempt(f'{file} {pid}', lambda: os.read(os.open(f'/proc/{pid}/{file}', os.O_RDONLY), 1))
  attempt(f'write mem {pid}', lambda: os.open(f'/proc/{pid}/mem', os.O_RDWR))
  for place in ('cwd', 'root', 'exe', 'fd/0', 'fd/1', 'fd/3', 'ns/mnt'):
    attempt(f'{place} {pid}', lambda: os.open(f'/proc/{pid}/{place}', os.O_RDONLY))
  for number in (signal.SIGCONT, signal.SIGUSR2, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
    attempt(f'kill {number} {pid}', lambda: os.kill(pid, number))
  attempt(f'pidfd {pid}', lambda: libc.syscall(438, libc.syscall(434, pid, 0), 0, 0))
  class Part(ctypes.Structure): _fields_ = [('at', ctypes.c_void_p), ('length', ctypes.c_size_t)]
  part = Part(ctypes.cast(ctypes.create_string_buffer(8), ctypes.c_void_p), 8)
  attempt(f'vm {pid}', lambda: libc.syscall(310, pid, ctypes.byref(part), 1, ctypes.byref(Part(0x400000, 8)), 1, 0))
# It says that it succeeded also when nobody got it.
os.kill(-1, signal.SIGKILL)
print(done)
`;

/** Without a signal and without a look into it: less room, less time, the first to be killed when memory is short. */
const STARVE = `
import ctypes, os
libc = ctypes.CDLL(None)
pid = PID
done = []
def attempt(name, act):
  try:
    if act() not in (-1, 0xffffffffffffffff): done.append(name)
  except OSError: pass
attempt('limits', lambda: libc.prlimit(pid, 7, ctypes.create_string_buffer(16), None))
attempt('first victim', lambda: os.write(os.open(f'/proc/{pid}/oom_score_adj', os.O_WRONLY), b'1000'))
attempt('priority', lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
# Of everybody with the uid, without naming one.
attempt('priority of all', lambda: os.setpriority(os.PRIO_USER, 0, 19))
attempt('scheduler', lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)))
attempt('processors', lambda: os.sched_setaffinity(pid, [0]))
print(done)
`;

/** The keyring of a user is every process's that has the uid; kept for as long as the one lives that put the key there. */
const KEYRING = `
import ctypes, os, sys
libc = ctypes.CDLL(None)
add_key, keyctl = (248, 250) if os.uname().machine == 'x86_64' else (217, 219)
OWN_KEYRING, SEARCH, READ = -4, 10, 11
`;
const KEEP_KEY = `${KEYRING}
libc.syscall(add_key, b'user', b'${SECRET}', b'${SECRET}', ${SECRET.length}, OWN_KEYRING)
print('ready', flush=True)
sys.stdin.read()
`;
const READ_KEY = `${KEYRING}
text = ctypes.create_string_buffer(100)
libc.syscall(keyctl, READ, libc.syscall(keyctl, SEARCH, OWN_KEYRING, b'user', b'${SECRET}', 0), text, 100)
print(text.value.decode())
`;

function plant({ home, uid }: Place, name: string): string {
  const path = join(home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, SECRET);
  chmodSync(path, 0o600);
  for (let at = path; at !== home; at = dirname(at)) if (IS_ROOT) chownSync(at, uid, uid);
  return path;
}

describeOrdinary((place) => {
  let kept: readonly string[];
  beforeAll(() => {
    kept = KEPT.map((name) => plant(place(), name));
  });

  async function readAndWrite(names: readonly string[]): Promise<string> {
    const ended = await place().daemon.run(
      python(READ_AND_WRITE.replace('NAMES', JSON.stringify(names))),
      tierB(place()),
    );
    return ended.stdout;
  }

  test('a file that nobody hides is read and written, so the attack itself works', async () => {
    const open = plant(place(), 'notes.txt');
    const said = await readAndWrite([open]);
    expect(said).toContain(`read ${open} ${SECRET}`);
    expect(said).toContain(`truncated ${open}`);
  });

  test('the daemon’s directory and the operator’s credentials are neither read nor changed, by any name', async () => {
    const { workspace, base } = place();
    symlinkSync(join(place().home, '.ssh'), join(workspace, 'ssh'));
    symlinkSync(place().home, join(base, 'other-name'));
    const names = [
      ...kept,
      join(workspace, 'ssh/id_ed25519'),
      ...KEPT.map((name) => join(base, 'other-name', name)),
      ...KEPT.map((name) => join(workspace, '../home', name)),
    ];
    expect(await readAndWrite(names)).toBe('end\n');
    for (const path of kept) expect(readFileSync(path, 'utf8')).toBe(SECRET);
  });

  test('neither a namespace nor a mount of its own makes them visible', async () => {
    const steps = [
      ['unshare', '--user', '--map-root-user', '--mount', 'cat', ...kept],
      ['unshare', '--user', '--map-root-user', '--mount', 'mount', '--bind', place().home, place().workspace],
      ['bwrap', '--bind', '/', '/', 'cat', ...kept],
    ];
    const { stdout } = await place().daemon.run(
      python(`
import subprocess
for step in ${JSON.stringify(steps)}:
  print(subprocess.run(step, capture_output=True).stdout.decode(), end='')
print('end')
`),
      tierB(place()),
    );
    expect(stdout).toBe('end\n');
  });

  test('nothing of the operator’s processes can be read, written, traced or signalled', async () => {
    const operators = await startOperators(place());
    const { daemon } = place();
    // A keeper and a neighbour: another job of the same user.
    const neighbour = daemon.start({ argv: ['sleep', '1000'] }, tierB(place()));
    await neighbour.running;
    const keepers = childrenOf(daemon.launcherPid);
    const pids = [daemon.pid, daemon.launcherPid, ...keepers, ...keepers.flatMap(childrenOf), operators.pid];
    const { stdout } = await daemon.run(python(REACH_INTO.replace('PIDS', JSON.stringify(pids))), tierB(place()));
    const states = pids.map((pid) => statusOf(pid ?? 0, 'State').slice(0, 1));
    neighbour.cancel();
    operators.kill('SIGKILL');
    await Promise.all([neighbour.ended, once(operators, 'close')]);

    expect(pids.length).toBeGreaterThanOrEqual(5);
    expect(stdout).toBe('[]\n');
    expect(states).not.toContain('T');
    expect(states).not.toContain('Z');
    expect((await neighbour.ended).kind).toBe('cancelled');
  });

  test('nothing of what the operator’s processes may use can be taken from them', async () => {
    const operators = await startOperators(place());
    const { stdout } = await place().daemon.run(python(STARVE.replace('PID', String(operators.pid))), tierB(place()));
    const niceness = getPriority(operators.pid);
    operators.kill('SIGKILL');
    await once(operators, 'close');
    expect(stdout).toBe('[]\n');
    expect(niceness).toBe(getPriority());
  });

  test('nothing in the operator’s keyring can be read', async () => {
    const operators = spawnAs(place(), ['python3', '-c', KEEP_KEY]);
    await once(operators.stdout, 'data');
    const { stdout } = await place().daemon.run(python(READ_KEY), tierB(place()));
    operators.stdin.end();
    await once(operators, 'close');
    expect(stdout).toBe('\n');
  });

  test('outside of any sandbox, with the same uid, the launcher’s memory is closed too', async () => {
    const { daemon } = place();
    const script = REACH_INTO.replace('PIDS', JSON.stringify([daemon.launcherPid])).replace(
      /for number in \(.*\)/,
      'for number in ()',
    );
    const stranger = spawnAs(place(), ['python3', '-c', script.replace(/^os\.kill\(-1.*$/m, '')]);
    const [said] = await once(stranger.stdout, 'data');
    await once(stranger, 'close');
    const done = JSON.parse(String(said).replaceAll("'", '"')) as string[];
    expect(done).toEqual([]);
    // Undumpable: its files in /proc are root's.
    expect(lstatSync(`/proc/${daemon.launcherPid}/mem`).uid).toBe(0);
  });

  test.runIf(IS_ROOT)('the launcher listens nowhere: of sockets it has one, and that has no name [needs: root]', () => {
    const { launcherPid } = place().daemon;
    const fds = readdirSync(`/proc/${launcherPid}/fd`).map((fd) => readlinkSync(`/proc/${launcherPid}/fd/${fd}`));
    const inodes = fds.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
    const table = readFileSync(`/proc/${launcherPid}/net/unix`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/));
    const ours = table.filter((row) => inodes.includes(row[6] ?? ''));
    // 01 is SO_ACCEPTCON's place in the flags: 00010000 would be a listener.
    expect(ours.map((row) => [row[3], row[7]])).toEqual(inodes.map(() => ['00000000', undefined]));
    const names = ['tcp', 'tcp6', 'udp', 'udp6'].map((name) =>
      readFileSync(`/proc/${launcherPid}/net/${name}`, 'utf8'),
    );
    for (const inode of inodes) for (const text of names) expect(text).not.toContain(` ${inode} `);
  });

  test('a launcher that a stranger starts without a socket does nothing', async () => {
    const program = readFileSync(`/proc/${place().daemon.launcherPid}/cmdline`, 'utf8').split('\0')[0] ?? '';
    const stranger = spawnAs(place(), [program]);
    expect(await once(stranger, 'close')).toEqual([64, null]);
  });
});

async function startOperators(place: Place) {
  const operators = spawnAs(place, ['sleep', '1000']);
  await until('it is the operator’s', () => statusOf(operators.pid ?? 0, 'Name') === 'sleep');
  return operators;
}

function spawnAs(place: Place, argv: readonly string[]) {
  const [file = '', ...args] = as(place, argv);
  return spawn(file, args, { cwd: '/', env: { PATH: '/usr/bin:/bin' }, stdio: ['pipe', 'pipe', 'ignore'] });
}
