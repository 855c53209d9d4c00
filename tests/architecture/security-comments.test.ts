import { expect, test } from 'vitest';
import { checkSecurityComments } from './check-security-comments.ts';
import { repositoryOf, thisRepository } from './repository.ts';

const MODEL = {
  'docs/threat-model.md': '# Threats, see T-99\n\n| T-07 | Typing. |\n| T-08 | Lying. |\n- T-09 Failing open.\n',
};
const ATTACKS = {
  'tests/attack/terminal.test.ts': '/** T-07: types into the terminal. */\nimport "x";\n',
  'tests/attack/prompt.test.ts': '// T-08, T-09\n// both\nimport "x";\n',
};

function faultsOf(contents: Readonly<Record<string, string>>): string[] {
  return checkSecurityComments(repositoryOf({ ...MODEL, ...ATTACKS, ...contents }));
}

function faultsOfLine(line: string, path = 'packages/sandbox/src/a.ts'): string[] {
  return faultsOf({ [path]: `const a = 1;\n${line}\n` });
}

test('every SECURITY comment of this repository names a threat that a test attacks', () => {
  expect(checkSecurityComments(thisRepository())).toEqual([]);
});

test.for([
  '// SECURITY: T-07 — or the tool can type.',
  '  const x = 1; // SECURITY: T-07 — or the tool can type.',
  '/** SECURITY: T-07, T-08 — both. */',
  ' * SECURITY: T-09 — see T-55 elsewhere.',
  '// Comments such as SECURITY: T-55 are described here.',
])('%j is accepted', (line) => {
  expect(faultsOfLine(line)).toEqual([]);
});

test.for([
  ['// SECURITY: be careful', 'a.ts:2: write "SECURITY: T-nn — why"'],
  ['// SECURITY — T-07', 'a.ts:2: write "SECURITY: T-nn — why"'],
  ['// SECURITY: T-55 — unknown', 'a.ts:2: T-55 is not in docs/threat-model.md'],
  ['// SECURITY: T-99 — only mentioned there', 'a.ts:2: T-99 is not in docs/threat-model.md'],
  ['// SECURITY: T-07, T-55 — one of two', 'a.ts:2: T-55 is not in docs/threat-model.md'],
] as const)('%j is refused', ([line, sentence]) => {
  expect(faultsOfLine(line)).toEqual([expect.stringContaining(sentence)]);
});

test('C and plain JavaScript are read too', () => {
  expect(faultsOfLine('/* SECURITY: T-55 */', 'packages/sandbox/native/launcher.c')).toHaveLength(1);
  expect(faultsOfLine('// SECURITY: T-55', 'apps/cli/bin/palyra.mjs')).toHaveLength(1);
});

test('a threat that no test attacks is refused, also when a test names it below its header', () => {
  const withoutHeader = { 'tests/attack/prompt.test.ts': '// T-09\nimport "x";\n// T-08\n' };
  expect(faultsOf({ ...withoutHeader, 'packages/a/src/a.ts': '// SECURITY: T-08 — x' })).toEqual([
    'packages/a/src/a.ts:1: no test under tests/attack names T-08 in its header',
  ]);
});

test('an attack test without an id in its header, or with an unknown one, is refused', () => {
  expect(faultsOf({ 'tests/attack/nameless.test.ts': 'import "x";\n// T-07\n' })).toEqual([
    'tests/attack/nameless.test.ts: its header comment names no threat',
  ]);
  expect(faultsOf({ 'tests/attack/unknown.test.ts': '// T-55\n' })).toEqual([
    'tests/attack/unknown.test.ts: T-55 is not in docs/threat-model.md',
  ]);
});

test('without a threat model nothing is in order', () => {
  expect(checkSecurityComments(repositoryOf(ATTACKS))).toEqual(['docs/threat-model.md: is missing']);
});
