import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findClient } from '@palyra/agents';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createOwnRules } from './own-rules.ts';

let userHome = '';
beforeEach(() => {
  userHome = mkdtempSync(join(tmpdir(), 'own-rules-'));
});
afterEach(() => rmSync(userHome, { recursive: true }));

const place = (name: string) => join(userHome, name);

function forbid(directory: string, word: string): void {
  mkdirSync(join(directory, '.codex/rules'), { recursive: true });
  writeFileSync(
    join(directory, '.codex/rules/a.rules'),
    `prefix_rule(pattern = ["${word}"], decision = "forbidden")\n`,
  );
}

/** What is said of `touch made` in the last of these directories, by a hook in the first. */
async function said(rules: ReturnType<typeof createOwnRules>, hookIn: string, cwd: string): Promise<string> {
  const act = { kind: 'shell', command: 'touch made', cwd } as const;
  return (await rules.judge(findClient('codex'), { act, cwd, hookIn })).kind;
}

test('rules count of where the command would run, of where the agent is, and of all above both', async () => {
  const rules = createOwnRules({ userHome });
  forbid(place('work/a'), 'touch');
  expect(await said(rules, place('work/b'), place('work/b'))).toBe('none');
  expect(await said(rules, place('work/b'), place('work/a/below'))).toBe('refused');
  expect(await said(rules, place('work/a/below'), place('work/b'))).toBe('refused');
  expect(await said(rules, '', place('work/b'))).toBe('none');
});

test('SECURITY: T-41 — an agent in a box hears of no rules but those of its workspace and above it', async () => {
  const rules = createOwnRules({ userHome, within: place('work') });
  forbid(place('another'), 'touch');
  expect(await said(rules, place('another'), place('another'))).toBe('none');
  forbid(place('work/a'), 'touch');
  expect(await said(rules, place('another'), place('work/a'))).toBe('refused');
  forbid(userHome, 'touch');
  expect(await said(rules, place('another'), place('another'))).toBe('refused');
});
