import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { askableActions } from './askable-actions.ts';
import { readSchema as readCedarSchema, splitPolicies } from './cedar.ts';
import { compilePolicies } from './compiled-policies.ts';
import { REASON_CODES } from './decision.ts';
import { parsePolicyTests } from './parse-policy-tests.ts';
import { requirePassed, runPolicyTests } from './policy-test.ts';
import { PRESET_NAMES, presetFiles, readSchema } from './presets.ts';

const PAGE = readFileSync(new URL('../../../docs/reference/policy.md', import.meta.url), 'utf8');

function blocks(language: string): readonly string[] {
  return [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'))].map(([, text = '']) => text);
}

const EXAMPLES = blocks('cedar');

test.each(EXAMPLES.map((text) => [/@id\("([^"]+)"\)/.exec(text)?.[1], text] as const))(
  'the example %s can be activated by itself, and relies on nothing that is merely declared to permit',
  (id, text) => {
    const isOfShop = text.includes('Palyra::Workspace::"shop"');
    const origin = isOfShop ? ({ kind: 'workspace', workspace: 'shop' } as const) : ({ kind: 'operator' } as const);
    const { set } = compilePolicies({ preset: 'coding', files: [{ name: 'example.cedar', text, origin }] });
    const permits = set.warnings.filter(
      ({ policyId, message }) => policyId === id && !message.startsWith('It forbids'),
    );
    expect(permits).toEqual([]);
  },
);

test('the examples together do what their tests and the page say', async () => {
  expect(EXAMPLES.length).toBeGreaterThanOrEqual(5);
  const origin = { kind: 'operator' } as const;
  const files = EXAMPLES.map((text, index) => ({ name: `example-${index}.cedar`, text, origin }));
  const tests = parsePolicyTests(blocks('toml').map((text, index) => ({ name: `${index}.toml`, text, origin })));
  const results = await runPolicyTests(compilePolicies({ preset: 'coding', files }), tests);
  requirePassed(results);
  expect(results.length).toBeGreaterThanOrEqual(EXAMPLES.length);
});

test('the page names every policy of the presets, every reason code, action group, entity and attribute', () => {
  const policies = PRESET_NAMES.flatMap((preset) => presetFiles(preset)).flatMap(({ text }) => {
    const answer = splitPolicies(text);
    return answer.kind === 'split' ? answer.parts.map(({ id }) => id) : [];
  });
  const groups = askableActions(readSchema()).flatMap((action) => action.groups);
  const schema = readCedarSchema(readSchema());
  const { entityTypes, commonTypes } = schema.kind === 'parsed' ? Object(schema.json)['Palyra'] : {};
  const attributes = Object.values(Object(commonTypes)).flatMap((type) => Object.keys(Object(type).attributes));
  expect(attributes.length).toBeGreaterThan(40);
  const names = [...policies, ...Object.keys(REASON_CODES), ...groups, ...Object.keys(entityTypes), ...attributes];
  const known = new Set(PAGE.match(/(?<=[`".])[\w.-]+(?=[`"])/g));
  // They are explained through their parts.
  for (const record of ['enforced', 'declared']) if (PAGE.includes(`\`context.${record}\``)) known.add(record);
  expect(names.filter((name) => !known.has(String(name)))).toEqual([]);
});
