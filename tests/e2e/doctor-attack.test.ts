import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isSignedByKey, openOperatorCredential } from '@palyra/identity';
import { findAttacker } from '@palyra/sandbox';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { type AttackTargets, CANARY, judgeAttempt } from '../../apps/cli/src/attack/attack-row.ts';
import { PROGRAMMED_ATTACKS } from '../../apps/cli/src/attack/programmed-attacks.ts';
import { runInProcess } from './cli-in-process.ts';

test('the battery is stopped on this host, row by row, and the scorecard is signed', async () => {
  await using place = await createTemporaryHome();
  const home = join(place.path, 'palyra');
  const { PATH = '' } = process.env;
  const variables = { PATH, HOME: place.path, PALYRA_HOME: home, TMPDIR: tmpdir() };
  const args = ['doctor', '--attack', '--json'];
  const { exit, out } = await runInProcess({ args, cwd: place.path, variables, input: '' });
  const { rows, scorecard } = JSON.parse(out) as { readonly rows: readonly Row[]; readonly scorecard: string };
  expect(rows.filter(({ status }) => status !== 'stopped')).toEqual([]);
  expect(exit).toBe(0);
  expect(rows.map(({ id }) => id)).toEqual([
    ...PROGRAMMED_ATTACKS.map(({ id }) => id),
    'metadata',
    'persistence',
    'approval',
    'journal',
  ]);
  for (const row of rows) {
    expect(Object.keys(row).toSorted()).toEqual(['attempt', 'expected', 'id', 'layer', 'observed', 'status', 'threat']);
  }
  const { payload, signature } = JSON.parse(await readFile(scorecard, 'utf8')) as Record<string, string>;
  const { key } = openOperatorCredential(join(home, 'identity'));
  const message = Buffer.from(`palyra.scorecard/1\n${payload}`);
  const { publicKey } = key;
  expect(isSignedByKey({ publicKey, message, signature: Buffer.from(signature ?? '', 'base64') })).toBe(true);
  expect(JSON.parse(payload ?? '')).toMatchObject({ rows });
}, 180_000);

interface Row {
  readonly id: string;
  readonly status: string;
}

test('each programmed row turns red where nothing stops it', async () => {
  const root = await mkdtemp(join(tmpdir(), 'unboxed-'));
  await mkdir(join(root, '.ssh'));
  await mkdir(join(root, 'identity'));
  await writeFile(join(root, '.ssh/id_canary'), '');
  await writeFile(join(root, 'diary.txt'), '');
  const server = createServer((socket) => socket.destroy());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const env = { ...process.env, [CANARY]: 'secret' };
  const neighbour = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 60_000)'], { env, stdio: 'ignore' });
  await once(neighbour, 'spawn');
  const targets: AttackTargets = {
    outsideFile: join(root, 'diary.txt'),
    userHome: root,
    palyraHome: root,
    port,
    // Of a process that stands outside of whatever box: this one.
    hostPid: neighbour.pid ?? 0,
    processes: 12,
  };
  for (const attack of PROGRAMMED_ATTACKS) {
    // With a terminal: that is one of the things that a box takes away.
    const words = [findAttacker() ?? '', ...attack.words(targets)];
    const argv = ['--quiet', '--return', '--command', words.map(quoted).join(' '), '/dev/null'];
    const { stdout } = await promisify(execFile)('script', argv, { env, cwd: root });
    const row = judgeAttempt(attack, { stdout: stdout.replaceAll('\r', ''), how: '' });
    expect(row, `row ${attack.id}`).toMatchObject({ status: 'open', observed: 'It came through.' });
  }
  server.close();
  neighbour.kill();
  await once(neighbour, 'close');
  await rm(root, { recursive: true });
});

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const NOT_TRIED = [
  ['a program that never began', '', 'It could not be tried: sandbox.unsupported'],
  ['one that said something else', 'sh: 1: palyra-attacker: not found\n', 'It could not be tried: sandbox.unsupported'],
  ['one that broke off', 'TRIED\n', 'It was not tried to its end: sandbox.unsupported'],
  ['one that met no reason', 'TRIED\nSTOPPED\n', 'It was not tried to its end: sandbox.unsupported'],
  [
    'one that had more to say',
    'TRIED\nSTOPPED No such file\nOPEN\n',
    'It was not tried to its end: sandbox.unsupported',
  ],
  ['one that came through', 'TRIED\nOPEN\n', 'It came through.'],
] as const;

test.each(NOT_TRIED)('%s is open, and the row says why', (_what, stdout, observed) => {
  const [plan] = PROGRAMMED_ATTACKS;
  if (plan === undefined) throw new Error('There is no row.');
  expect(judgeAttempt(plan, { stdout, how: 'sandbox.unsupported' })).toMatchObject({ status: 'open', observed });
});

test('only what the attacker met is stopped', () => {
  const [plan] = PROGRAMMED_ATTACKS;
  if (plan === undefined) throw new Error('There is no row.');
  const row = judgeAttempt(plan, { stdout: 'TRIED\nSTOPPED No such file or directory\n', how: '' });
  expect(row).toMatchObject({ status: 'stopped', observed: 'It did not come through: No such file or directory' });
});
