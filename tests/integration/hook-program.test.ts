import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { findHook } from '@palyra/sandbox';
import { expect, test } from 'vitest';

const hook = findHook() ?? 'palyra-hook';

test('the hook has no C library, whose start takes longer than all that it does', () => {
  expect(readFileSync(hook).includes('GLIBC')).toBe(false);
  expect(statSync(hook).size).toBeLessThan(64 * 1024);
});

// SECURITY: T-58
test.each([
  [[]],
  [['claude-code']],
  [['claude-code', '--home']],
  [['claude-code', '--home', '/nonexistent', '--palyra', 'palyra', '--patience', '0']],
  [['claude-code', '--home', '/nonexistent', '--palyra', 'palyra', '--patience', '-1']],
  [['claude-code', '--home', '/nonexistent', '--palyra', 'palyra', '--patience', ' 5']],
  [['claude-code', '--home', '/nonexistent', '--palyra', 'palyra', '--patience', '5s']],
  [['claude-code', '--home', '/nonexistent', '--palyra', 'palyra', '--patience', '18446744073709551617']],
  [['claude-code', '--home', 'x'.repeat(10_000), '--palyra', 'palyra', '--patience', '5']],
  [['claude-code', '--listener', '127.0.0.1:65536', '--palyra', 'palyra', '--patience', '5']],
  [['claude-code', '--listener', '127.0.0.1:', '--palyra', 'palyra', '--patience', '5']],
  [['claude-code', '--listener', '127.0.0.1:+80', '--palyra', 'palyra', '--patience', '5']],
  [['claude-code', '--listener', '127.0.0.1:80 ', '--palyra', 'palyra', '--patience', '5']],
])('a hook that is set up as %j says no in words', (words) => {
  const { status, stdout, stderr } = spawnSync(hook, words, { input: '{}', encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(/^Palyra: .+, so this is not allowed\. .+\n$/);
});
