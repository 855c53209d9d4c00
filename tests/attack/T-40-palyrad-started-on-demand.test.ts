// T-40: what is around the command that starts palyrad reaches into it: NODE_OPTIONS of an editor, which opens a debugger in the
// process that holds the authority, as SIGUSR1 from any process of the same user does; and a palyrad.json that was left behind, whose port belongs to somebody else by now.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { homeLayout, PALYRAD_FLAGS } from '@palyra/config';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compileCache } from '../../apps/cli/bin/compile-cache.mjs';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { createTemporaryHome } from '../../packages/testkit/src/temporary-home.ts';
import { makeHome } from '../palyrad-process.ts';

const PROGRAM = fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url));
const BIN = fileURLToPath(new URL('../../apps/cli/bin/palyra.mjs', import.meta.url));
const HOSTILE = {
  NODE_OPTIONS: '--inspect=127.0.0.1:0 --trace-warnings',
  NODE_PATH: '/tmp',
  NODE_REDIRECT_WARNINGS: '/tmp/palyra-warnings',
  OPENSSL_CONF: '/dev/null',
};

let place: Awaited<ReturnType<typeof createTemporaryHome>>;
let root = '';
let visits = 0;
const somebodyElse = createServer((socket) => {
  visits += 1;
  socket.destroy();
});
const listening = () =>
  JSON.parse(readFileSync(join(root, 'palyrad.json'), 'utf8')) as { pid: number; address: string };

async function palyra(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<number | null> {
  const env = {
    PATH: process.env['PATH'],
    HOME: place.path,
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    ...more,
  };
  const child = spawn(process.execPath, ['--conditions=palyra-source', PROGRAM, '--home', root, ...args], { env });
  child.stdout.resume();
  child.stderr.resume();
  const [code] = (await once(child, 'close')) as [number | null];
  return code;
}

beforeAll(async () => {
  place = await createTemporaryHome();
  root = join(place.path, 'palyra');
  await makeHome(homeLayout(root));
  somebodyElse.listen(0, '127.0.0.1');
  await once(somebodyElse, 'listening');
  const { pid } = spawnSync(process.execPath, ['-e', '0']);
  const { port } = somebodyElse.address() as AddressInfo;
  const left = { pid, version: '0', address: `127.0.0.1:${port}`, started_at: '2026-01-01T00:00:00.000Z' };
  writeFileSync(join(root, 'palyrad.json'), JSON.stringify(left), { mode: 0o600 });
  if ((await palyra(['up'], HOSTILE)) !== 0) throw new Error('palyrad was not started.');
  declareLongLived(listening().pid);
});
afterAll(async () => {
  await palyra(['down', '--now']);
  somebodyElse.close();
  await place[Symbol.asyncDispose]();
});

test('a debugger that was meant for another Node is not opened in palyrad, nor anything else of it taken along', () => {
  expect(readFileSync(join(root, 'palyrad.log'), 'utf8')).not.toContain('Debugger listening');
  const names = readFileSync(`/proc/${listening().pid}/environ`, 'utf8')
    .split('\0')
    .map((each) => each.split('=')[0]);
  for (const name of Object.keys(HOSTILE)) expect(names).not.toContain(name);
});

test('it is started with the flags that forbid one from its first moment', () => {
  const argv = readFileSync(`/proc/${listening().pid}/cmdline`, 'utf8').split('\0');
  expect(argv.slice(1, 1 + PALYRAD_FLAGS.length)).toEqual(PALYRAD_FLAGS);
  expect(PALYRAD_FLAGS).toContain('--disable-sigusr1');
});

test('a signal of the same user opens no debugger either', async () => {
  process.kill(listening().pid, 'SIGUSR1');
  // Long enough for Node to have opened one: another program is started, and calls palyrad.
  expect(await palyra(['status'])).toBe(0);
  expect(readFileSync(join(root, 'palyrad.log'), 'utf8')).not.toMatch(/debugger|inspector/i);
});

test.each([
  ['a command that lives long, which may hold the key of whoever approves', ['--conditions=palyra-source', PROGRAM]],
  ['the Node of the host that started it, and may look into it', [BIN]],
])('nor in %s', async (_what, started) => {
  const env = { PATH: process.env['PATH'], HOME: place.path, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] };
  const argv = [...started, '--home', root, 'mcp', 'serve'];
  const serving = spawn(process.execPath, argv, { env, cwd: place.path });
  let said = '';
  const answered = once(serving.stdout, 'data');
  serving.stderr.on('data', (chunk) => {
    said += String(chunk);
  });
  const ended = once(serving, 'close');
  // Whatever it answers, it has begun.
  serving.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await Promise.race([answered, ended]);
  serving.kill('SIGUSR1');
  expect(await palyra(['status'])).toBe(0);
  expect(serving.exitCode).toBeNull();
  serving.stdin.end();
  await ended;
  expect(said).not.toMatch(/debugger|inspector/i);
});

test('nobody calls where a palyrad that is gone used to listen', () => {
  expect(visits).toBe(0);
  expect(listening().address).not.toBe(`127.0.0.1:${(somebodyElse.address() as AddressInfo).port}`);
});

test('what Node compiled is taken from a directory of this user alone, and from no link to one', () => {
  const directory = join(place.path, 'compiled');
  expect(compileCache(directory)).toBeUndefined();
  expect(compileCache(directory)).toBe(directory);
  symlinkSync(directory, join(place.path, 'link'));
  expect(compileCache(join(place.path, 'link'))).toBeUndefined();
  for (const mode of [0o777, 0o720, 0o702]) {
    chmodSync(directory, mode);
    expect(compileCache(directory)).toBeUndefined();
  }
});
