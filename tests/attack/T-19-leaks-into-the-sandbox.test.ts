/**
 * T-19: what is the host's reaches the tool: open descriptors, variables, sockets of agents and services, the network,
 * the operator's home, the daemon's own directory, files of other runs.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Daemon, launcherIn, startDaemon } from './sandbox-daemon.ts';
import { describeBothWays, IS_ROOT, type Place, python, sh, tierB, tierC, uniqueMark } from './sandboxed.ts';

const SECRET = uniqueMark();
const TIERS = [
  ['B', tierB],
  ['C', tierC],
] as const;

/** A file of the place's user. */
function plant({ uid }: Place, path: string, mode = 0o600): string {
  writeFileSync(path, `${SECRET}\n`);
  chmodSync(path, mode);
  if (IS_ROOT) chownSync(path, uid, uid);
  return path;
}

/** The launcher, with descriptors open that nobody told it of. */
function leakyLauncher(place: Place): string {
  const program = join(place.base, 'leaky-launcher');
  const secret = plant(place, join(place.base, 'leaked'));
  writeFileSync(program, `#!/bin/sh\nexec 4<${secret} 7<${secret} 9>>${secret}\nexec ${launcherIn(place.checkout)}\n`);
  chmodSync(program, 0o755);
  return program;
}

/** Named and abstract sockets of the host, as ssh-agent, Docker, D-Bus and X have them; each tells whoever connects. */
const SERVE = `
import os, socket, sys
socket.setdefaulttimeout(None)
servers = []
for name in sys.argv[1:]:
  server = socket.socket(socket.AF_UNIX)
  server.bind(('\\0' + name[1:]) if name.startswith('@') else name)
  server.listen()
  if not name.startswith('@'): os.chmod(name, 0o777)
  servers.append(server)
print('ready', flush=True)
sys.stdin.read()
`;

const CONNECT = `
import socket, sys
for name in sys.argv[1].split():
  try:
    socket.socket(socket.AF_UNIX).connect(('\\0' + name[1:]) if name.startswith('@') else name)
    print('reached', name)
  except OSError: pass
print('end')
`;

const OURS =
  'HOME LANG LOGNAME PATH SHELL TMPDIR USER ASAN_OPTIONS CARGO_NET_RETRY PIP_RETRIES npm_config_fetch_retries'.split(
    ' ',
  );

describeBothWays((place) => {
  let daemon: Daemon;
  let sockets: readonly string[];
  let services: ChildProcess;
  let loopback: Server;

  beforeAll(async () => {
    const { base } = place();
    sockets = [`${base}/docker.sock`, `${base}/agent.sock`, `@${base}/dbus`, `@${base}/.X11-unix/X7`];
    services = spawn('python3', ['-c', SERVE, ...sockets], { stdio: ['pipe', 'pipe', 'inherit'] });
    if (services.stdout !== null) await once(services.stdout, 'data');
    loopback = createServer((connection) => connection.end(SECRET)).listen(0, '127.0.0.1');
    await once(loopback, 'listening');
    daemon = await startDaemon(place(), {
      launcherProgram: leakyLauncher(place()),
      environment: {
        API_TOKEN: SECRET,
        SSH_AUTH_SOCK: `${base}/agent.sock`,
        DOCKER_HOST: `unix://${base}/docker.sock`,
      },
    });
  });
  afterAll(async () => {
    await daemon.close();
    services.stdin?.end();
    await once(services, 'close');
    loopback.close();
  });

  test.each(TIERS)('Tier %s: nothing is open but the three streams', async (_, profile) => {
    const { stdout } = await daemon.run(
      python(`
import os
def is_open(fd):
  try: return os.fstat(fd) is not None
  except OSError: return False
print([fd for fd in range(4096) if is_open(fd)])
`),
      profile(place()),
    );
    expect(stdout).toBe('[0, 1, 2]\n');
  });

  test.each(TIERS)(
    'Tier %s: of the caller’s variables only what the profile names, of the daemon’s none',
    async (_, profile) => {
      const environment = {
        LD_PRELOAD: '/tmp/evil.so',
        BASH_ENV: '/tmp/evil',
        CALLERS_TOKEN: SECRET,
        WANTED: 'yes',
        PATH: '/tmp',
        HOME: '/root',
      };
      const ended = await daemon.run(
        { argv: ['env'], environment },
        profile(place(), { environment: ['WANTED', 'PATH', 'HOME'] }),
      );
      const names = ended.stdout
        .trim()
        .split('\n')
        .map((line) => line.split('=')[0]);
      expect(names.filter((name) => !OURS.includes(name ?? ''))).toEqual(['WANTED']);
      expect(ended.stdout).not.toContain(SECRET);
      expect(ended.stdout).not.toMatch(/^(?:PATH=\/tmp|HOME=\/root)$/m);
    },
  );

  test.each(['refused', 'allowed'] as const)(
    'Tier C: no socket of the host is reached, with Unix sockets %s',
    async (unixSockets) => {
      const { stdout } = await daemon.run(python(CONNECT, sockets.join(' ')), tierC(place(), { unixSockets }));
      expect(stdout).toBe('end\n');
    },
  );

  test('the sockets of these tests can be reached from the host', async () => {
    const { stdout } = await promisify(execFile)('python3', ['-c', CONNECT, sockets.join(' ')]);
    expect(stdout).toBe(`${sockets.map((name) => `reached ${name}\n`).join('')}end\n`);
  });

  test('Tier B: abstract sockets of the host are out of reach', async () => {
    const abstract = sockets.filter((name) => name.startsWith('@'));
    const { stdout } = await daemon.run(
      python(CONNECT.replace('sys.argv[1]', JSON.stringify(abstract.join(' ')))),
      tierB(place()),
    );
    expect(stdout).toBe('end\n');
  });

  test('Tier C: neither the host’s loopback nor any other network is there', async () => {
    const address = loopback.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const { stdout } = await daemon.run(
      python(`
import errno, os, socket
for host, port in (('127.0.0.1', ${port}), ('169.254.169.254', 80), ('192.0.2.1', 80), ('10.0.0.1', 53)):
  try: socket.create_connection((host, port), 5); print('reached', host)
  except OSError as error: print(errno.errorcode[error.errno])
print(os.listdir('/sys/class/net') if os.path.exists('/sys/class/net') else [name for _, name in socket.if_nameindex()])
print(len(open('/proc/net/route').readlines()) - 1)
`),
      tierC(place()),
    );
    expect(stdout).toBe("ECONNREFUSED\nENETUNREACH\nENETUNREACH\nENETUNREACH\n['lo']\n0\n");
  });

  test('Tier C: no file of the operator, of the daemon, of another workspace or of the host’s /tmp and /run is there', async () => {
    const { base, home, palyraHome } = place();
    mkdirSync(join(base, 'other-workspace'));
    mkdirSync(join(home, '.ssh'));
    const planted = [
      plant(place(), join(home, '.ssh/id_ed25519'), 0o644),
      plant(place(), join(home, 'notes.txt'), 0o644),
      plant(place(), join(palyraHome, 'key'), 0o644),
      plant(place(), join(base, 'other-workspace/file'), 0o644),
    ];
    const look = `for file in ${planted.join(' ')}; do cat $file; cat /proc/self/root$file; cat /proc/1/root$file; cat ../../..$file; done`;
    const { stdout, stderr } = await daemon.run(
      sh(
        `${look}; grep -rs ${SECRET} /tmp /home /root /run /var /etc /dev/shm ${base}; ls -A /tmp /run /root /home 2>/dev/null; echo end`,
      ),
      tierC(place()),
    );
    const names = stdout.split('\n').filter((line) => /^\S+$/.test(line) && !line.endsWith(':'));
    expect(stdout).not.toContain(SECRET);
    expect(names.filter((name) => !['palyra', 'end', base.slice('/tmp/'.length)].includes(name))).toEqual([]);
    expect(stderr).toContain('No such file');
  });

  test('Tier C: the host’s files of users and secrets are not the host’s', async () => {
    const { stdout } = await daemon.run(
      sh('cat /etc/shadow /etc/ssh/*_key 2>/dev/null; wc -l < /etc/passwd; hostname'),
      tierC(place()),
    );
    expect(stdout).toBe('3\npalyra\n');
  });

  test('Tier C: what one run leaves outside the workspace, another does not find', async () => {
    const leave = sh(`for at in /tmp /dev/shm "$HOME"; do echo ${SECRET} > $at/left && echo done; done`);
    expect((await daemon.run(leave, tierC(place()))).stdout).toBe('done\ndone\ndone\n');
    const find = sh(
      'cat /tmp/left /dev/shm/left "$HOME/left"; ls -A /tmp /dev/shm "$HOME" | grep left; ipcs -q -m | grep -c 0x',
    );
    const { stdout } = await daemon.run(find, tierC(place()));
    expect(stdout).toBe('0\n');
  });

  test('Tier C: two runs at once neither see nor signal one another', async () => {
    const first = daemon.start({ argv: ['sleep', '100'] }, tierC(place()));
    await first.running;
    const { stdout } = await daemon.run(sh('grep -ls sleep /proc/[0-9]*/comm; kill -9 -1; echo end'), tierC(place()));
    expect(stdout).toBe('end\n');
    first.cancel();
    expect((await first.ended).kind).toBe('cancelled');
  });
});
