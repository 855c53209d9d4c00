import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parsePolicy, parseSchema, policyToJson, readSchema } from './cedar.ts';
import { compilePolicySet } from './compile-policy-set.ts';
import { knownPolicy, knownSchema, parseForms } from './known-forms.ts';
import { PRESET_NAMES, readSchema as schemaText } from './presets.ts';
import { renderKnownForms } from './render-known-forms.ts';

const TEXTS = PRESET_NAMES.flatMap((preset) =>
  compilePolicySet({ preset, files: [] }).policies.map(({ text }) => text),
);

test('the file is as it would be written', () => {
  const file = new URL('../policies/known-forms.json', import.meta.url);
  expect(readFileSync(file, 'utf8')).toBe(renderKnownForms());
});

test('every policy of a preset, and the schema, is known as Cedar reads it now', () => {
  expect({ kind: 'parsed', json: knownSchema(schemaText()) }).toEqual(parseSchema(schemaText()));
  for (const text of TEXTS) expect({ kind: 'parsed', json: knownPolicy(text) }).toEqual(parsePolicy(text));
});

// SECURITY: T-09
test('a text that was edited is not known, and Cedar reads what it says now', () => {
  const [text = ''] = TEXTS.filter((each) => each.includes('permit ('));
  const edited = text.replace('permit (', 'forbid (');
  expect(knownPolicy(edited)).toBeUndefined();
  expect(policyToJson(text)).toMatchObject({ json: { effect: 'permit' } });
  expect(policyToJson(edited)).toMatchObject({ json: { effect: 'forbid' } });
  const schema = `${schemaText()}\nnamespace Other { entity Thing; }\n`;
  expect(knownSchema(schema)).toBeUndefined();
  expect(readSchema(schema)).toMatchObject({ json: { Other: {} } });
});

test('nobody changes what all of them are given', () => {
  const known = knownPolicy(TEXTS[0] ?? '');
  expect(() => Object.assign(known?.action as object, { op: 'None' })).toThrow(TypeError);
  expect(Object.isFrozen(known?.conditions)).toBe(true);
});

test.each([
  'null',
  '[]',
  '{}',
  '{"schemas":null,"policies":{}}',
  '{"schemas":{},"policies":[]}',
  '{"schemas":{},"policies":{"a":null}}',
  '{"schemas":{"a":1},"policies":{}}',
  '{"__proto__":{"schemas":{},"policies":{"a":{}}}}',
])('%s knows nothing', (text) => {
  expect(parseForms(text)).toEqual({ schemas: {}, policies: {} });
});

test('a list of forms knows them', () => {
  expect(parseForms('{"schemas":{"a":{}},"policies":{"b":{"effect":"permit"}}}').policies['b']).toEqual({
    effect: 'permit',
  });
});
