// T-13: an interpreter gets past the guard: by another name, a link, a copy, a script, or an attached option.
import { chmod, copyFile, link, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkCommand } from '../../packages/sandbox/src/guard/check-command.ts';
import { createProgramFiles } from '../../packages/sandbox/src/guard/program-files.ts';
import type { SandboxProfile } from '../../packages/sandbox/src/profile.ts';
import { sandboxProfile } from '../sandbox-profile.ts';

let base: string;
let workspace: string;
let tools: string;
let files: ReturnType<typeof createProgramFiles>;

/** The tools' directory is the operator's, so only what its programs are can refuse them; the workspace is the agent's. */
beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'palyra-t13-')));
  workspace = join(base, 'ws');
  tools = join(base, 'tools');
  await mkdir(workspace);
  await mkdir(tools);
  files = createProgramFiles([tools, '/usr/local/bin', '/usr/bin', '/bin']);
  await plant(tools);
  await plant(workspace);
});
afterAll(() => rm(base, { recursive: true }));

async function plant(directory: string): Promise<void> {
  const at = (name: string) => join(directory, name);
  await copyFile('/bin/bash', at('formatter'));
  await link(at('formatter'), at('hard'));
  await symlink('/bin/bash', at('linked'));
  await symlink('linked', at('linked-twice'));
  await symlink('/usr/bin/awk', at('columns'));
  await symlink('/usr/bin/env', at('cat'));
  await copyFile('/usr/bin/find', at('lookup'));
  await copyFile('/bin/ls', at('own-ls'));
  await writeFile(at('script'), '#!/bin/sh\nid\n');
  await writeFile(at('env-script'), '#!/usr/bin/env -S bash -e\nid\n');
  await writeFile(at('nested'), `#!${at('script')}\nid\n`);
  await writeFile(at('text'), 'id\n');
  await writeFile(at('busybox'), nativeFile('busybox'));
  await symlink('busybox', at('ash'));
  for (const name of ['script', 'env-script', 'nested', 'text', 'busybox']) await chmod(at(name), 0o755);
}

/** What decides here is the name and that it is native, so any native program will do for one that is not installed. */
function nativeFile(name: string): Uint8Array {
  return new TextEncoder().encode(`\u007fELF ${name}`);
}

function check(program: string, args: readonly string[], change: Partial<Omit<SandboxProfile, 'limits'>> = {}): string {
  const profile = sandboxProfile(workspace, { tier: 'B', interpreters: 'refused', ...change });
  const answer = checkCommand({
    command: { argv: [basename(program), ...args] },
    profile,
    programPath: program,
    files,
  });
  return answer.kind === 'ok' ? 'ok' : answer.code;
}

test.each([
  ['/bin/bash', '-lc', 'id'],
  ['/bin/bash', '-cid', ''],
  ['/bin/sh', 'x.sh', ''],
  ['/usr/bin/perl', '-eprint', ''],
  ['/usr/bin/awk', 'BEGIN{system("id")}', ''],
  ['/usr/bin/env', 'id', ''],
  ['/usr/bin/nice', 'id', ''],
])('%s %s is refused', (program, ...args) => {
  for (const tier of ['B', 'C'] as const) expect(check(program, args, { tier })).toBe('sandbox.interpreter_refused');
});

test.each([
  'formatter',
  'hard',
  'linked',
  'linked-twice',
  'columns',
  'cat',
  'script',
  'env-script',
  'nested',
  'text',
  'busybox',
  'ash',
])('%s is what it is, in the tools of the operator and in the workspace', (name) => {
  for (const directory of [tools, workspace]) {
    expect(check(join(directory, name), ['x'])).toBe('sandbox.interpreter_refused');
  }
});

test('a renamed copy of bash is bash even when the operator lists its path', () => {
  const path = join(tools, 'formatter');
  expect(check(path, ['-c', 'id'], { executables: [path] })).toBe('sandbox.interpreter_refused');
  expect(check(path, ['-c', 'id'], { executables: ['formatter'] })).toBe('sandbox.interpreter_refused');
});

test('a renamed find is harmless until it starts a program', () => {
  const path = join(tools, 'lookup');
  expect(check(path, ['.', '-name', 'x'])).toBe('ok');
  expect(check(path, ['.', '-exec', 'id', ';'])).toBe('sandbox.interpreter_refused');
});

test('a copy that is written over in place is recognised anew', async () => {
  const path = join(tools, 'changing');
  await copyFile('/bin/ls', path);
  expect(check(path, [])).toBe('ok');
  await copyFile('/bin/bash', path);
  expect(check(path, [])).toBe('sandbox.interpreter_refused');
});

test('any program in the workspace is code brought along, unless the operator lists that very path', () => {
  const path = join(workspace, 'own-ls');
  expect(check(path, [])).toBe('sandbox.interpreter_refused');
  expect(check(path, [], { executables: ['own-ls', 'ls'] })).toBe('sandbox.executable_not_allowed');
  expect(check(path, [], { executables: [path] })).toBe('ok');
  expect(check(join(tools, 'own-ls'), [])).toBe('ok');
});

test('a link in the workspace does not lend its name to another program', () => {
  expect(check(join(workspace, 'cat'), ['id'], { executables: ['cat'] })).toBe('sandbox.executable_not_allowed');
});

test('a script that the operator lists runs, and code where the profile allows it', () => {
  expect(check(join(tools, 'env-script'), [], { executables: ['env-script'] })).toBe('ok');
  expect(check('/bin/bash', ['-c', 'id'], { interpreters: 'allowed' })).toBe('ok');
  expect(check('/bin/bash', ['-c', 'id'], { interpreters: 'allowed', tier: 'C' })).toBe('ok');
});
