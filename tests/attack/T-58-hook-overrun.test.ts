/**
 * T-58: something that is longer than its place in the hook overruns it, and the hook ends by a signal: a mishap to agents,
 * and the tool runs. There is no such fault that we know of, so one is planted, in what the set-up compiles as it always does.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { launcher } from '../../tools/setup/launcher-step.mjs';

const NATIVE = 'packages/sandbox/native';
const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));

interface Slip {
  readonly file: string;
  readonly right: string;
  readonly wrong: string;
}

const NUMBER = 'bool read_number(const char *text, unsigned long most, unsigned long *number) {';
/** Where the hook reads a word of its command line, it keeps a copy that has room for a short one. */
const OVERRUN: Slip = {
  file: 'hook/words.c',
  right: NUMBER,
  wrong: `${NUMBER}
  volatile char copy[16];
  for (size_t at = 0; at == 0 || copy[at - 1] != 0; at++) copy[at] = text[at];`,
};

/** The hook as the set-up makes it of sources with these slips. Launcher and stage are not what this is about. */
async function compileHook(slips: readonly Slip[]): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), 'palyra-hook-overrun-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const folder of ['attacker', 'bare', 'hook']) {
    cpSync(join(CHECKOUT, NATIVE, folder), join(root, NATIVE, folder), { recursive: true });
  }
  mkdirSync(join(root, NATIVE, 'stage'));
  writeFileSync(join(root, NATIVE, 'none.c'), 'int main(void) { return 0; }\n');
  for (const { file, right, wrong } of slips) {
    const path = join(root, NATIVE, file);
    const text = readFileSync(path, 'utf8');
    expect(text.split(right)).toHaveLength(2);
    writeFileSync(path, text.replace(right, wrong));
  }
  await launcher.work({ root, groups: [], log: join(root, 'log'), onChild: () => {} });
  return join(root, NATIVE, 'build', `${process.platform}-${process.arch}`, 'palyra-hook');
}

function run(hook: string, patience: string) {
  const words = ['claude-code', '--home', '/nonexistent', '--palyra', 'palyra', '--patience', patience];
  const { status, signal, stdout, stderr } = spawnSync(hook, words, { input: '{}', encoding: 'utf8' });
  return { status, signal, stdout, stderr };
}

const SHORT = '5';
const LONG = '5'.repeat(100);

test('an overrun is a no, by the code that agents know, and nothing else of it happens', async () => {
  const hook = await compileHook([OVERRUN]);
  expect(run(hook, LONG)).toEqual({ status: 2, signal: null, stdout: '', stderr: '' });
  // What is not too long goes on, so it was the overrun that ended the other one.
  expect(run(hook, SHORT)).toEqual({ status: 2, signal: null, stdout: '', stderr: expect.stringMatching(/^Palyra: /) });
});

test('without what ends it like that, it ends by a signal', async () => {
  const hook = await compileHook([
    OVERRUN,
    { file: 'bare/start.c', right: '#ifdef GUARD_EXIT', wrong: '#ifdef NOBODY_SAYS_THIS' },
  ]);
  expect(run(hook, LONG)).toMatchObject({ status: null, signal: expect.stringMatching(/^SIG(?:ILL|TRAP)$/) });
});

test('without a guard it goes to where the overrun says', async () => {
  const unguarded = { ...OVERRUN, wrong: `__attribute__((no_stack_protector)) ${OVERRUN.wrong}` };
  expect(run(await compileHook([unguarded]), LONG)).toMatchObject({ status: null, signal: 'SIGSEGV' });
});
