// T-40: palyrad listens where other hosts reach it, or where whoever has the same uid counts as somebody: a public address
// without being told, a listener without certificates on one, a socket with a name.
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { ToolService } from '@palyra/api';
import { homeLayout } from '@palyra/config';
import { expect, test } from 'vitest';
import { createTemporaryHome } from '../../packages/testkit/src/temporary-home.ts';
import { makeHome, runPalyrad, startPalyrad } from '../palyrad-process.ts';

test.each([
  ['listen = "0.0.0.0:0"'],
  ['listen = "[::]:0"'],
  ['pairing_listen = "0.0.0.0:0"'],
  ['allow_remote = true\ntoken_listen = "0.0.0.0:0"'],
  ['allow_remote = true\nconsole = "0.0.0.0:0"'],
  ['allow_remote = true\nlisten = "localhost.example.org:0"'],
])('%j is refused, and nothing was opened', async (setting) => {
  await using place = await createTemporaryHome();
  const home = homeLayout(join(place.path, 'palyra'));
  await makeHome(home);
  const { code, said } = await runPalyrad(home, { config: `[daemon]\n${setting}\n` });
  expect(code).toBe(2);
  expect(said).toContain('error[daemon.public_bind]');
  expect(said).toContain('fix: ');
  expect(readdirSync(home.root)).not.toContain('palyrad.json');
});

interface OpenSocket {
  readonly kind: 'tcp' | 'unix';
  readonly at: string;
}

/** What the kernel says that a process listens on, or has a name for. */
function socketsOf(pid: number): readonly OpenSocket[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        return [];
      }
    }),
  );
  const rows = (name: string) => readFileSync(`/proc/${pid}/net/${name}`, 'utf8').trim().split('\n').slice(1);
  const tcp = ['tcp', 'tcp6'].flatMap(rows).map((row) => row.trim().split(/\s+/));
  const listening = tcp.filter((row) => row[3] === '0A' && inodes.has(row[9] ?? ''));
  const named = rows('unix')
    .map((row) => row.trim().split(/\s+/))
    .filter((row) => inodes.has(row[6] ?? '') && row[7] !== undefined);
  return [
    ...listening.map((row) => ({ kind: 'tcp', at: row[1] ?? '' }) as const),
    ...named.map((row) => ({ kind: 'unix', at: row[7] ?? '' }) as const),
  ];
}

/** As the kernel writes it. */
const loopback = (port: number): OpenSocket => ({
  kind: 'tcp',
  at: `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`,
});

const hookPortOf = (home: string) =>
  Number(/^127\.0\.0\.1 (\d+)\n/.exec(readFileSync(join(home, 'hook'), 'utf8'))?.[1]);

test('it listens on loopback for the API and for hooks, and no socket of it has a name', async () => {
  await using palyrad = await startPalyrad();
  const expected = [loopback(palyrad.port), loopback(hookPortOf(palyrad.home.root))];
  const found = socketsOf(palyrad.child.pid ?? 0);
  expect(found).toHaveLength(2);
  expect(found).toEqual(expect.arrayContaining(expected));
  expect(statSync(join(palyrad.home.root, 'hook')).mode & 0o777).toBe(0o600);
});

test('whoever asks as a hook without its key is told nothing', async () => {
  await using palyrad = await startPalyrad();
  const port = hookPortOf(palyrad.home.root);
  const unsigned = Buffer.concat([Buffer.from('PLH2'), Buffer.alloc(32), Buffer.from([0, 5]), Buffer.from('codex')]);
  const asked = Buffer.concat([unsigned, Buffer.from([0, 0, 0, 0, 0, 2]), Buffer.from('{}'), Buffer.alloc(32)]);
  for (const bytes of [asked, Buffer.from('GET / HTTP/1.1\r\n\r\n'), Buffer.alloc(1)]) {
    const socket = connect(port, '127.0.0.1');
    const said: Buffer[] = [];
    socket.on('data', (piece: Buffer) => said.push(piece)).on('error', () => undefined);
    socket.end(bytes);
    await once(socket, 'close');
    expect(Buffer.concat(said).toString()).toBe('');
  }
});

test('told to, it listens for other hosts, with certificates all the same', async () => {
  await using palyrad = await startPalyrad({ config: '[daemon]\nallow_remote = true\nlisten = "0.0.0.0:0"\n' });
  const sockets = socketsOf(palyrad.child.pid ?? 0);
  expect(sockets.filter(({ at }) => at.startsWith('00000000:'))).toHaveLength(1);
  // The one for hooks is for this host, whatever the operator allows.
  expect(sockets).toContainEqual(loopback(hookPortOf(palyrad.home.root)));
  expect((await palyrad.client(ToolService, 'local-agent').listTools({})).tools.length).toBeGreaterThan(0);
  const { execFile } = await import('node:child_process');
  const failed = await new Promise<Error | null>((resolve) => {
    execFile('curl', ['--silent', '--insecure', `https://127.0.0.1:${palyrad.port}/healthz`], (error) =>
      resolve(error),
    );
  });
  expect(failed).not.toBeNull();
});
