import { expect, test } from 'vitest';
import { environmentRunsCode } from './environment-code.ts';
import { identifyProgram } from './identify-program.ts';
import { createInMemoryFiles } from './in-memory-files.ts';
import { interpreterEntries } from './interpreters.ts';
import { knownInterpreters } from './known-interpreters.ts';
import { programNames } from './program-names.ts';
import { readShebang } from './shebang.ts';

const ELF = '\u007fELF';
const files = createInMemoryFiles({
  '/usr/bin/bash': `${ELF} bash`,
  '/usr/bin/python3.11': `${ELF} py`,
  '/usr/bin/python3': '-> python3.11',
  '/usr/bin/env': `${ELF} env`,
  '/usr/bin/ls': `${ELF} ls`,
  '/x/one': '-> two',
  '/x/two': '-> /usr/bin/python3',
  '/x/hard': '= /usr/bin/bash',
  '/x/copy': `${ELF} bash`,
  '/x/changed': `${ELF} bosh`,
  '/x/s1': '#! /usr/bin/env python3\n',
  '/x/s2': '#!/x/s1 -x\n',
  '/x/deep1': '#!/x/deep2\n',
  '/x/deep2': '#!/x/deep1\n',
  '/x/no-env': '#!/usr/bin/env nothing\n',
});

test('every name on the way is known, and so is what it is a copy of', () => {
  expect(identifyProgram('/x/one', files)).toMatchObject({
    kind: 'identified',
    path: '/usr/bin/python3.11',
    names: ['one', 'two', 'python3', 'python', 'python3.11'],
    form: { kind: 'native' },
  });
  expect(identifyProgram('/x/hard', files)).toMatchObject({ path: '/x/hard', names: ['hard', 'bash'] });
  expect(identifyProgram('/x/copy', files)).toMatchObject({ path: '/x/copy', names: ['copy', 'bash'] });
  expect(identifyProgram('/x/changed', files)).toMatchObject({ names: ['changed'] });
});

test('a hard link is recognised without its bytes', () => {
  const blind = { ...files, sha256: () => undefined };
  expect(identifyProgram('/x/hard', blind)).toMatchObject({ names: ['hard', 'bash'] });
  expect(identifyProgram('/x/copy', blind)).toMatchObject({ names: ['copy'] });
});

test('a script is followed to what runs it, and no further than the kernel goes', () => {
  expect(identifyProgram('/x/s2', files)).toMatchObject({
    form: { kind: 'script', chain: ['/x/s1', '/usr/bin/env', '/usr/bin/python3.11'] },
  });
  expect(identifyProgram('/x/deep1', files)).toEqual({ kind: 'unidentified', reason: 'nested_too_deep' });
  expect(identifyProgram('/x/no-env', files)).toEqual({ kind: 'unidentified', reason: 'absent' });
});

test('the survey finds interpreters and nothing else', () => {
  expect(knownInterpreters(files).map(({ path }) => path)).toEqual([
    '/usr/bin/bash',
    '/usr/bin/python3.11',
    '/usr/bin/python3.11',
    '/usr/bin/env',
  ]);
});

test.each([
  ['#!/bin/sh\n', { path: '/bin/sh', argument: undefined, program: undefined }],
  ['#! /bin/sh -eu \nx', { path: '/bin/sh', argument: '-eu', program: undefined }],
  ['#!/usr/bin/env python3', { path: '/usr/bin/env', argument: 'python3', program: 'python3' }],
  ['#!/usr/bin/env -S A=1 node -x', { path: '/usr/bin/env', argument: '-S A=1 node -x', program: 'node' }],
  ['#!/usr/bin/env -vSbash -c', { path: '/usr/bin/env', argument: '-vSbash -c', program: 'bash' }],
  [
    '#!/usr/bin/env --split-string=perl -w',
    { path: '/usr/bin/env', argument: '--split-string=perl -w', program: 'perl' },
  ],
  ['echo', undefined],
])('%j is read as the kernel and env read it', (text, shebang) => {
  expect(readShebang(new TextEncoder().encode(text))).toEqual(shebang);
});

test.each([
  'bash',
  'BASH.EXE',
  '-bash',
  'bash-static',
  'python3.11',
  'python3-dbg',
  'pypy3',
  'perl5.36.0',
  'node24',
  'nodejs',
  'lua5.4',
  'tclsh8.6',
  'ruby3.1',
  'php8.2',
  'php8.2-cgi',
  'vim.tiny',
  'gcc-12',
  'x86_64-linux-gnu-gcc-12',
  'clang++-15',
  'ld-linux-x86-64.so.2',
  'ld-linux.so.2',
  'ld-musl-aarch64.so.1',
  'ld-2.31.so',
  'busybox',
  'pwsh-preview',
  'gawk-5.1.0',
])('%s is in the table', (name) => {
  expect(interpreterEntries(programNames(name))).not.toEqual([]);
});

test.each(['cat', 'ls', 'head', 'sha256sum', 'base64', 'md5sum', 'jq', 'grep', 'b2sum', 'stat', 'bzip2', 'tr'])(
  '%s is not',
  (name) => {
    expect(interpreterEntries(programNames(name))).toEqual([]);
  },
);

test('variables that run code are told from those that do not', () => {
  const run =
    'BASH_ENV ENV LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT NODE_OPTIONS PYTHONSTARTUP PYTHONPATH PERL5OPT PERL5LIB RUBYOPT GIT_SSH_COMMAND GIT_EXTERNAL_DIFF EDITOR PAGER LESSOPEN GCC_EXEC_PREFIX TAR_OPTIONS DYLD_INSERT_LIBRARIES BASH_FUNC_ls%% PATH';
  const harmless = 'LANG LC_ALL TZ TERM NO_COLOR NODE_ENV CI FORCE_COLOR COLUMNS';
  expect(run.split(' ').filter((name) => !environmentRunsCode(name))).toEqual([]);
  expect(harmless.split(' ').filter(environmentRunsCode)).toEqual([]);
});
