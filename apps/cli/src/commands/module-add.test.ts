import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { afterAll, expect, test } from 'vitest';
import { runCli } from '../run-cli.ts';
import { moduleAdd } from './module-add.ts';
import { moduleList } from './module-list.ts';

const base = mkdtempSync(join(tmpdir(), 'palyra-module-add-'));
const file = join(base, 'empty.wasm');
writeFileSync(file, Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
afterAll(() => rmSync(base, { recursive: true, force: true }));

async function cli(...argv: readonly string[]) {
  const said: string[] = [];
  const stream = new Writable({ write: (chunk, _encoding, done) => done(void said.push(String(chunk))) });
  const exit = await runCli({
    argv,
    version: '1.2.3',
    nodeVersion: '24.0.0',
    commands: [moduleAdd, moduleList],
    variables: { PALYRA_HOME: join(base, 'home') },
    userHome: () => base,
    openStdin: () => Readable.from([]),
    stdout: Object.assign(stream, { isTTY: false }),
    stderr: Object.assign(stream, { isTTY: false }),
    workingDirectory: () => '/',
    signal: new AbortController().signal,
  });
  return { exit, said: said.join('') };
}

const granting = (...grants: readonly string[]) => grants.flatMap((grant) => ['--grant', grant]);

test('secrets are granted by name, with a host that they could go to, and are listed', async () => {
  const grants = granting('http=api.example.com:443', 'secret=tracker', 'secret=backup.key');
  expect(await cli('module', 'add', 'issues', file, ...grants)).toMatchObject({ exit: 0 });
  const listed = JSON.parse((await cli('module', 'list', '--json')).said) as { readonly modules: unknown };
  expect(listed.modules).toMatchObject([
    { module: 'issues', grants: { http: ['api.example.com:443'], secrets: ['tracker', 'backup.key'] } },
  ]);
});

test.each([
  ['a secret without a host', ['secret=tracker'], 'cli.invalid_option'],
  ['a name that no record could hold', ['http=api.example.com', 'secret=_tracker'], 'config.invalid_value'],
  ['a secret without a name', ['http=api.example.com', 'secret='], 'cli.invalid_option'],
])('%s is not granted', async (_, grants, code) => {
  const { exit, said } = await cli('module', 'add', 'other', file, '--json', ...granting(...grants));
  expect(exit).not.toBe(0);
  expect(said).toContain(code);
});
