import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isSignedByKey, openOperatorCredential } from '@palyra/identity';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { type AttackTargets, CANARY, judgeScript } from '../../apps/cli/src/attack/attack-row.ts';
import { SCRIPTED_ATTACKS, scriptOf } from '../../apps/cli/src/attack/scripted-attacks.ts';
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
    ...SCRIPTED_ATTACKS.map(({ id }) => id),
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

test('each scripted row turns red where nothing stops it', async () => {
  const root = await mkdtemp(join(tmpdir(), 'unboxed-'));
  await mkdir(join(root, '.ssh'));
  await mkdir(join(root, 'identity'));
  await writeFile(join(root, '.ssh/id_canary'), '');
  await writeFile(join(root, 'diary.txt'), '');
  const server = createServer((socket) => socket.destroy());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const targets: AttackTargets = {
    outsideFile: join(root, 'diary.txt'),
    userHome: root,
    palyraHome: root,
    port,
    hostPid: 0,
    processes: 12,
  };
  for (const attack of SCRIPTED_ATTACKS) {
    // Of a process that stands outside of whatever box: the shell itself.
    const script = scriptOf(attack, targets).replaceAll('/proc/0/', () => '/proc/$$/');
    // With a terminal: that is one of the things that a box takes away.
    const argv = ['--quiet', '--return', '--command', `bash -c ${quoted(script)}`, '/dev/null'];
    const env = { ...process.env, [CANARY]: 'secret' };
    const { stdout } = await promisify(execFile)('script', argv, { env, cwd: root });
    const row = judgeScript(attack, { stdout: stdout.replaceAll('\r', ''), how: '' });
    expect(row, `row ${attack.id}`).toMatchObject({ id: attack.id, status: 'open' });
  }
  server.close();
  await rm(root, { recursive: true });
});

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

test('a row that was not tried is open', () => {
  const [plan] = SCRIPTED_ATTACKS;
  if (plan === undefined) throw new Error('There is no row.');
  expect(judgeScript(plan, { stdout: '', how: 'sandbox.unsupported' })).toMatchObject({ status: 'open' });
  expect(judgeScript(plan, { stdout: 'TRIED\n', how: '' })).toMatchObject({ status: 'stopped' });
});
