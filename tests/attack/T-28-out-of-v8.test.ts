// T-28, T-19: whoever breaks out of V8 is in the box of a WASM host: no network, no files, no secrets, no daemon memory.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createSandbox, type HandedPipes } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import { planHostLaunch } from '../../packages/gateway/src/wasm-hosts/host-launch.ts';

/** What code in that process could try. Says what it got, by name; nothing of it may be there. */
const INTRUDER = `
import { readFileSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { createSocket } from 'node:dgram';
const { secret, port, daemon } = JSON.parse(process.argv[1]);
const got = [];
const attempt = (name, act) => { try { const found = act(); if (found) got.push(name + ': ' + String(found).slice(0, 80)); } catch {} };
attempt('secret file', () => readFileSync(secret, 'utf8'));
attempt('shadow', () => readFileSync('/etc/shadow', 'utf8'));
attempt('home', () => readdirSync('/root').join());
attempt('daemon memory', () => readFileSync('/proc/' + daemon + '/mem').length + 1);
attempt('daemon environment', () => readFileSync('/proc/' + daemon + '/environ', 'utf8'));
attempt('written', () => { writeFileSync(new URL('./planted.js', import.meta.url), 'x'); return 'yes'; });
attempt('variables', () => Object.keys(process.env).filter((name) => /KEY|TOKEN|SECRET|PALYRA|AGENT/.test(name)).join());
const open = readdirSync('/proc/self/fd').flatMap((fd) => { try { return [[fd, readlinkSync('/proc/self/fd/' + fd)]]; } catch { return []; } });
attempt('a socket to ask or be handed something over', () => open.filter(([, to]) => to.startsWith('socket:')).join());
attempt('no pipe to palyrad', () => open.filter(([fd, to]) => fd < 3 && !to.startsWith('pipe:')).join());
attempt('raw', () => spawnSync('/usr/bin/unshare', ['--user', '--map-root-user', 'id'], { encoding: 'utf8' }).stdout);
const outside = (name, open) => new Promise((resolve) => {
  try { open((found) => { if (found) got.push(name); resolve(); }); } catch { resolve(); }
});
await outside('tcp', (done) => { const s = connect(port, '127.0.0.1', () => done(true)); s.on('error', () => done(false)); });
await outside('udp', (done) => { const s = createSocket('udp4'); s.on('error', () => done(false)); s.send('x', port, '192.0.2.1', (error) => { s.close(); done(!error); }); });
console.log(JSON.stringify(got));
`;

test('a program in the place of a host finds no file, no socket, no secret and no other process', async () => {
  const base = mkdtempSync('/tmp/palyra-intruder-');
  const server = createServer((socket) => socket.end('hello'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const operator = { path: '/usr/bin:/bin', home: base, palyraHome: join(base, '.palyra'), environment: {} };
  const sandbox = await createSandbox({ operator, logger: { error: () => undefined }, pool: 'off' });
  try {
    const secret = join(base, 'secret');
    writeFileSync(secret, 'sk-of-the-operator');
    const { port } = server.address() as { readonly port: number };
    const { command, profile } = planHostLaunch(64 * 1024 * 1024);
    const [node = '', ...rest] = command.argv;
    // The very box of a host, flags included; only the program is another one.
    const flags = rest.slice(0, -1).filter((flag) => flag !== '--disallow-code-generation-from-strings');
    const intruder = { argv: [node, ...flags, '--input-type=module', '-e', INTRUDER] };
    const told = JSON.stringify({ secret, port, daemon: process.pid });
    const heard: Buffer[] = [];
    let pipes: HandedPipes | undefined;
    // And its pipes are palyrad's, as those of a host are.
    const onPipes = (handed: HandedPipes) => {
      pipes = handed;
      handed.listen((bytes) => heard.push(bytes));
    };
    const result = await sandbox.run({ argv: [...intruder.argv, told] }, profile, { onPipes });
    if (!('output' in result)) throw new Error(JSON.stringify(result));
    await pipes?.ended;
    const said = {
      out: Buffer.concat(heard).toString(),
      err: Buffer.from(result.output.stderr).toString(),
    };
    expect(said).toEqual({ out: '[]\n', err: '' });
    expect(result.facts?.network).toBe('isolated');
    expect(result.facts?.processes.every(({ seccomp, uid }) => seccomp === 2 && uid !== 0)).toBe(true);
  } finally {
    await sandbox.close();
    server.close();
    rmSync(base, { recursive: true, force: true });
  }
});
