/**
 * T-49: an operator permits a process for what its arguments say. The agent runs `git` by name and does what it likes:
 * nothing holds a process to its arguments. Activation says so, and none of our own policies does it.
 */
import { compilePolicySet, PRESET_NAMES, presetFiles } from '@palyra/policy';
import { describe, expect, test } from 'vitest';

function warningsOf(policy: string) {
  const file = { name: 'policies/a.cedar', text: `@id("git") ${policy}`, origin: { kind: 'operator' } } as const;
  return compilePolicySet({ preset: 'coding', files: [file] }).warnings;
}

const CALL = 'action == Palyra::Action::"tool.execute"';

describe('a permit that relies on the arguments alone is warned of', () => {
  test.each([
    [`permit (principal, ${CALL}, resource) when { context.declared.arguments.contains("status") };`],
    [`permit (principal, ${CALL}, resource) when { context["declared"].command_line like "/usr/bin/git *" };`],
    [
      `permit (principal, ${CALL}, resource) when { context.declared has executable && context.declared.executable == "/usr/bin/git" };`,
    ],
    [
      `permit (principal, ${CALL}, resource) when { context.approved } unless { context.declared.hosts.contains("evil:1") };`,
    ],
    [`permit (principal, action in Palyra::Action::"execute", resource) when { context.declared.paths.isEmpty() };`],
    [
      `permit (principal, action in [Palyra::Action::"skill.execute"], resource) when { context.declared.paths.isEmpty() };`,
    ],
    [`permit (principal, ${CALL}, resource) when { {it: context}.it.declared.paths.isEmpty() };`],
  ])('%s', (policy) => {
    expect(warningsOf(policy)).toEqual([{ policyId: 'git', message: expect.stringContaining('context.enforced') }]);
  });
});

describe('what is no such permit is not', () => {
  test.each([
    [
      `permit (principal, ${CALL}, resource) when { context.declared.paths.isEmpty() && context.enforced.leaves.isEmpty() };`,
    ],
    [`permit (principal, ${CALL}, resource) when { context.enforced.tier == "C" };`],
    ['permit (principal, action == Palyra::Action::"run.read", resource);'],
  ])('%s', (policy) => {
    expect(warningsOf(policy)).toEqual([]);
  });
});

test('a forbid by what is declared says how little it stops', () => {
  const forbid = `forbid (principal, ${CALL}, resource) when { context.declared.arguments.contains("--force") };`;
  expect(warningsOf(forbid)).toEqual([{ policyId: 'git', message: expect.stringContaining('stops mistakes') }]);
});

test.each(PRESET_NAMES)('the preset %s never reads what is declared', (preset) => {
  expect(presetFiles(preset).filter(({ text }) => text.includes('context.declared'))).toEqual([]);
});
