import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkedPolicies, renderCheckedPresets } from './checked-presets.ts';
import { compilePolicySet } from './compile-policy-set.ts';
import { compilePolicies } from './compiled-policies.ts';
import { PRESET_NAMES, presetFiles, readSchema } from './presets.ts';

test.each(PRESET_NAMES)('%s is what checking it now gives', (preset) => {
  expect(checkedPolicies(preset)).toEqual(compilePolicies({ preset, files: [] }));
});

test('the file is as it would be written', () => {
  const file = new URL('../policies/checked-presets.json', import.meta.url);
  expect(readFileSync(file, 'utf8')).toBe(renderCheckedPresets(compilePolicySet));
});

test('a preset, or a schema, that was edited since is checked again', () => {
  const ours = { schema: readSchema, files: presetFiles };
  const edited = (preset: 'coding' | 'observe') =>
    presetFiles(preset).map((file, at) => (at === 0 ? { ...file, text: `${file.text}\n// edited` } : file));
  expect(checkedPolicies('coding', ours)).toBeDefined();
  expect(checkedPolicies('coding', { ...ours, files: () => edited('coding') })).toBeUndefined();
  expect(checkedPolicies('coding', { ...ours, schema: () => `${readSchema()}\n` })).toBeUndefined();
  // Of observe also what it watches.
  const files = (preset: 'coding' | 'locked' | 'observe') =>
    preset === 'coding' ? edited(preset) : presetFiles(preset);
  expect(checkedPolicies('observe', { ...ours, files })).toBeUndefined();
});
