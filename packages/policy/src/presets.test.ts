import { describe, expect, test } from 'vitest';
import { compilePolicies } from './compiled-policies.ts';
import { parsePolicyTests } from './parse-policy-tests.ts';
import { requirePassed, runPolicyTests } from './policy-test.ts';
import { PRESET_NAMES, presetFiles, presetTests } from './presets.ts';

describe.each(PRESET_NAMES)('the preset %s', (preset) => {
  const tests = parsePolicyTests(presetTests(preset));

  test('passes its own examples', async () => {
    const results = await runPolicyTests(compilePolicies({ preset, files: [] }), tests);
    expect(() => requirePassed(results)).not.toThrow();
    expect(results.length).toBe(tests.length);
  });

  test('has an example for every policy', () => {
    const named = new Set(tests.flatMap(({ expected }) => expected.policies ?? []));
    const { set } = compilePolicies({ preset, files: [] });
    expect(set.policies.map(({ id }) => id).filter((id) => !named.has(id))).toEqual([]);
  });

  test('gives no warning and names its files as ours', () => {
    expect(compilePolicies({ preset, files: [] }).set.warnings).toEqual([]);
    expect(presetFiles(preset).map(({ name }) => name)).toEqual([
      'palyra:every-preset.cedar',
      `palyra:${preset}.cedar`,
    ]);
  });
});

test('an example is not vacuous: with the policies of another preset examples of coding flip', async () => {
  const results = await runPolicyTests(
    compilePolicies({ preset: 'locked', files: [] }),
    parsePolicyTests(presetTests('coding')),
  );
  expect(() => requirePassed(results)).toThrow(expect.objectContaining({ code: 'policy.test_failed' }));
});
