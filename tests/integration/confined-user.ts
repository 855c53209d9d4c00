import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ordinaryUser } from '@palyra/testkit';
import { seccompProgram } from '../../packages/sandbox/src/seccomp/filter.ts';

/** What an administrator, a container or an outer sandbox takes from an ordinary user. */
export type Confinement =
  | 'no user namespaces'
  | 'no user namespaces, and shared mounts'
  | 'no network namespaces'
  | 'a masked /proc'
  | 'a seccomp filter';

export interface ConfinedOutcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const WAIT = 'echo ready; read -r go;';
const GO_ON = 'exec "$@"';

/** Once its users are known, a shell must be executed again before it is root there. */
function withoutNamespaces(kind: 'user' | 'net'): readonly string[] {
  const inner = `echo 0 > /proc/sys/user/max_${kind}_namespaces && ${GO_ON}`;
  return ['unshare', '--user', 'sh', '-c', `${WAIT} exec sh -c '${inner}' sh "$@"`, 'sh'];
}

/** What stands before the command; each begins by saying that it is ready, and waits for a line. */
const CONFINEMENTS: Readonly<Record<Confinement, readonly string[]>> = {
  'no user namespaces': withoutNamespaces('user'),
  // As systemd has them; the launcher needs a namespace before bubblewrap does then.
  'no user namespaces, and shared mounts': [
    'unshare',
    '--mount',
    '--propagation',
    'shared',
    ...withoutNamespaces('user'),
  ],
  'no network namespaces': withoutNamespaces('net'),
  'a masked /proc': [
    'unshare',
    '--mount',
    'sh',
    '-c',
    `${WAIT} mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && ${GO_ON}`,
    'sh',
  ],
  'a seccomp filter': ['bwrap', '--dev-bind', '/', '/', '--seccomp', '3', '--', 'sh', '-c', `${WAIT} ${GO_ON}`, 'sh'],
};

/**
 * Runs a script of our packages as the ordinary user, with less than the host allows. Needs root. All of it happens in
 * namespaces of its own: the host's settings stay as they are.
 */
export async function runConfined(
  confinement: Confinement,
  script: string,
  args: readonly string[] = [],
): Promise<ConfinedOutcome> {
  const { uid, home, checkout } = await ordinaryUser();
  const identity = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--inh-caps=-all', '--no-new-privs'];
  const node = [join(checkout, 'bin/node'), '--conditions=palyra-source', join(checkout, script), ...args];
  const [file = '', ...rest] = [...CONFINEMENTS[confinement], 'setpriv', ...identity, '--', ...node];
  const filter = openFilter(home);
  const child = spawn(file, rest, {
    cwd: home,
    env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', HOME: home, TMPDIR: home },
    stdio: ['pipe', 'pipe', 'pipe', filter],
  }) as ChildProcessWithoutNullStreams;
  closeSync(filter);
  return finish(child, confinement);
}

async function finish(child: ChildProcessWithoutNullStreams, confinement: Confinement): Promise<ConfinedOutcome> {
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
  const closed = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), closed]);
  if (confinement.includes('namespaces')) {
    for (const map of ['uid_map', 'gid_map']) writeFileSync(`/proc/${child.pid}/${map}`, '0 0 4294967295\n');
  }
  child.stdin.end('go\n');
  const [exitCode] = (await closed) as [number | null];
  return { exitCode, stdout: said.stdout.replace(/^ready\n/, ''), stderr: said.stderr };
}

function openFilter(home: string): number {
  const path = join(home, 'filter.bpf');
  const arch = process.arch === 'arm64' ? 'arm64' : 'x86_64';
  writeFileSync(path, seccompProgram({ arch, unixSockets: 'allowed' }));
  return openSync(path, 'r');
}
