/**
 * T-40: an agent outside of any sandbox, with the uid of the workspace's owner, against a palyrad that is a service: it reads
 * keys, database and policies, looks into palyrad, the launcher and the process between them, ends them, opens a debugger in
 * one, or has palyrad started with its own uid. A tool of Tier B tries the same.
 */
import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { removeOrdinaryUser } from '@palyra/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sandboxProfile } from '../sandbox-profile.ts';
import { type ServicePlace, startServicePlace } from '../service/service-place.ts';
import { IS_ROOT, statusOf, until } from './sandboxed.ts';

/** Everything that it can list, read, open for writing, or move away. */
const REACH_FILES = `
import os, sys
done = []
def attempt(name, act):
  try: act(); done.append(name)
  except OSError: pass
for path in sys.argv[1:]:
  if os.path.isdir(path): attempt(f'list {path}', lambda: os.listdir(path))
  attempt(f'read {path}', lambda: open(path, 'rb').read(1))
  attempt(f'write {path}', lambda: os.close(os.open(path, os.O_WRONLY)))
  attempt(f'move {path}', lambda: os.rename(path, path + '.moved'))
  attempt(f'add to {path}', lambda: os.close(os.open(os.path.join(path, 'planted'), os.O_CREAT | os.O_WRONLY)))
  attempt(f'mode of {path}', lambda: os.chmod(path, 0o777))
print(done)
`;

/** \`PID:yes\` may be sent signals, \`PID:no\` is only looked into. */
const REACH_PROCESSES = `
import ctypes, os, signal, sys
libc = ctypes.CDLL(None)
done = []
def attempt(name, act):
  try:
    if act() != -1: done.append(name)
  except OSError: pass
for each in sys.argv[1:]:
  pid, signals = each.split(':')
  pid = int(pid)
  attempt(f'attach {pid}', lambda: libc.ptrace(16, pid, 0, 0))
  attempt(f'seize {pid}', lambda: libc.ptrace(0x4206, pid, 0, 0))
  for file in ('mem', 'environ', 'maps', 'stack', 'syscall', 'auxv'):
    attempt(f'{file} {pid}', lambda: os.read(os.open(f'/proc/{pid}/{file}', os.O_RDONLY), 1))
  attempt(f'write mem {pid}', lambda: os.open(f'/proc/{pid}/mem', os.O_RDWR))
  for place in ('cwd', 'root', 'fd/3', 'ns/mnt'):
    attempt(f'{place} {pid}', lambda: os.open(f'/proc/{pid}/{place}', os.O_RDONLY))
  attempt(f'pidfd {pid}', lambda: libc.syscall(438, libc.syscall(434, pid, 0), 3, 0))
  if signals == 'yes':
    for number in (signal.SIGCONT, signal.SIGUSR1, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
      attempt(f'kill {number} {pid}', lambda: os.kill(pid, number))
    attempt(f'limits {pid}', lambda: libc.prlimit(pid, 7, ctypes.create_string_buffer(16), None))
print(done)
`;

describe.runIf(IS_ROOT)('against a service [needs: root]', () => {
  let place: ServicePlace;
  beforeAll(async () => {
    place = await startServicePlace();
    await place.tell(CALL);
  });
  afterAll(async () => {
    await place.close();
    await removeOrdinaryUser();
  });

  const pids = () => [`${place.pid}:yes`, `${place.launcherPid}:yes`];

  test('keys, database, journal and policies can neither be read nor changed', () => {
    const home = join(place.state, 'home');
    const files = readdirSync(home, { recursive: true }).map((name) => join(home, String(name)));
    const named = (name: RegExp) => files.some((path) => name.test(path));
    expect([/palyra\.db$/, /identity\/.*key/, /policies$/].every(named)).toBe(true);
    expect(asUser(place.ownerUid, REACH_FILES, [place.state, home, ...files])).toBe('[]');
    // The attack itself works: palyrad's own user can.
    expect(asUser(place.daemonUid, `print(len(open('${join(home, 'palyra.db')}', 'rb').read(1)))`)).toBe('1');
  });

  test('palyrad and the launcher are neither looked into nor signalled, and nobody looks into the process between', () => {
    expect(asUser(place.ownerUid, REACH_PROCESSES, [...pids(), `${place.hostPid}:no`])).toBe('[]');
    expect([place.pid, place.launcherPid, place.hostPid].map((pid) => lstatSync(`/proc/${pid}/mem`).uid)).toEqual([
      0, 0, 0,
    ]);
    const states = [place.pid, place.launcherPid, place.hostPid].map((pid) => statusOf(pid, 'State').slice(0, 1));
    expect(states.filter((state) => state === 'T' || state === 'Z' || state === '')).toEqual([]);
  });

  test('nor by a tool of Tier B, which may not even signal its own user’s', async () => {
    const profile = sandboxProfile(place.workspace, { tier: 'B' });
    const argv = ['python3', '-c', REACH_PROCESSES, ...pids(), `${place.hostPid}:yes`];
    const result = await place.tell({ act: 'run', command: { argv }, profile, isBound: false });
    expect(result).toMatchObject({ kind: 'completed', output: { stdout: '[]\n' } });
  });

  test('the process between has no environment and one socket without a name', () => {
    expect(readFileSync(`/proc/${place.hostPid}/environ`, 'utf8')).toBe('');
    const fds = readdirSync(`/proc/${place.hostPid}/fd`).map((fd) => readlinkSync(`/proc/${place.hostPid}/fd/${fd}`));
    const inodes = fds.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
    const named = readFileSync(`/proc/${place.hostPid}/net/unix`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((row) => inodes.includes(row[6] ?? '') && row[7] !== undefined);
    expect(named).toEqual([]);
  });
});

describe.runIf(IS_ROOT)('against one that it may end [needs: root]', () => {
  afterAll(removeOrdinaryUser);

  test('the signal that opens a debugger opens none', async () => {
    const place = await startServicePlace();
    expect(asUser(place.ownerUid, `import os, signal; os.kill(${place.hostPid}, signal.SIGUSR1)`)).toBe('');
    const { outcome } = await place.tell<Called>(CALL);
    const isOpen = isListening(place.hostPid);
    await place.close();
    expect([isOpen, outcome.kind]).toEqual([false, 'completed']);
  });

  test('ended by its own user, it takes what runs along: palyrad knows, and says nothing of it has not run', async () => {
    const place = await startServicePlace();
    const begun = join(place.workspace, 'begun');
    const command = { argv: ['sh', '-c', 'touch begun; sleep 1000'] };
    const profile = sandboxProfile(place.workspace);
    const running = place.tell<{ kind: string }>({ act: 'run', command, profile, isBound: false });
    await until('it runs', () => existsSync(begun));
    asUser(place.ownerUid, `import os, signal; os.kill(${place.hostPid}, signal.SIGKILL)`);
    const { kind } = await running;
    const lost = await place.lost;
    const { outcome } = await place.tell<Called>(CALL);
    await until('the launcher is gone', () => statusOf(place.launcherPid, 'State') === '');
    await place.close();
    expect([kind, lost, outcome.code]).toEqual(['lost', 'sandbox.launcher_failed', 'sandbox.launcher_failed']);
  });

  test.each([
    ['two names of one user', 'service.unsafe_user', ({ owner, daemon }: Users) => Object.assign(daemon, owner)],
    ['root as palyrad', 'service.unsafe_user', ({ daemon }: Users) => Object.assign(daemon, { uid: 0 })],
    ['root as the owner', 'service.unsafe_user', ({ owner }: Users) => Object.assign(owner, { uid: 0 })],
    [
      'a home that the owner made before',
      'service.unsafe_state',
      ({ state, owner }: Users) => {
        mkdirSync(join(state, 'home'), { recursive: true, mode: 0o711 });
        chownSync(join(state, 'home'), owner.uid, owner.uid);
      },
    ],
  ] as const)('%s: it does not start', async (_, code, prepare) => {
    await expect(startServicePlace({ prepare: (settings) => void prepare(settings as Users) })).rejects.toThrow(code);
  });
});

/** Outside of any sandbox, in a session of its own; what it printed. */
function asUser(uid: number, script: string, args: readonly string[] = []): string {
  const identity = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--'];
  const options = { encoding: 'utf8', cwd: '/', env: { PATH: '/usr/bin:/bin' } } as const;
  const { stdout, stderr } = spawnSync(
    'setsid',
    ['--wait', 'setpriv', ...identity, 'python3', '-c', script, ...args],
    options,
  );
  return (stdout + stderr).trim();
}

const CALL = { act: 'call', tool: 'palyra.process.run', input: { argv: ['true'] } } as const;

interface Called {
  readonly outcome: { readonly kind: string; readonly code?: string };
}

interface Users {
  readonly state: string;
  readonly daemon: { uid: number; gid: number };
  readonly owner: { uid: number; gid: number };
}

/** A TCP socket of this process that waits for others. */
function isListening(pid: number): boolean {
  const inodes = fdsOf(pid).flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
  const rows = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  return rows.some((row) => row[3] === '0A' && inodes.includes(row[9] ?? ''));
}

function fdsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  } catch {
    return [];
  }
}
