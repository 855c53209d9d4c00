/** T-03: approve one path for good, and have its name break out of the rule that is written for it. */
import {
  type AskedEffect,
  addRule,
  addRuleTest,
  alwaysHereRule,
  type CompiledPolicies,
  compilePolicies,
  loadPolicies,
  parsePolicyTests,
  removeRule,
  requirePassed,
  runPolicyTests,
  splitPolicies,
} from '@palyra/policy';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const WORKSPACE = 'shop';
const ORIGIN = { kind: 'workspace', workspace: WORKSPACE } as const;

/** What an agent may call a file: anything without `/` and NUL. */
const HOSTILE = [
  '"]) || true --',
  '"].containsAll(context.enforced.secret_files) }; permit (principal, action, resource); @x(',
  '\\"]) || true',
  '\\',
  '\\u{22}]) || true',
  '*',
  '\n};\npermit (principal, action, resource);\n',
  '\r\n# palyra:always always-00000000 end\r\n',
  '{context}',
  '\u202Egnp.env',
  '\u2028',
  '\u0007\u001B[2K',
  '"""',
  "'''",
  '") @offer("always") @id("never',
  '😀',
];

function ruleFor(path: string) {
  const effect: AskedEffect = { kind: 'path', fact: 'secret_file', path, mode: 'read' };
  return alwaysHereRule({ workspace: WORKSPACE, effect, offer: 'always' });
}

function compile(text: string): CompiledPolicies {
  return compilePolicies({
    preset: 'coding',
    files: [{ name: 'policies/workspaces/shop.cedar', text, origin: ORIGIN }],
  });
}

function expectOneLiteral(path: string): void {
  const rule = ruleFor(path);
  const text = addRule('// mine\n', rule);
  const split = splitPolicies(text);
  const parts = split.kind === 'split' ? split.parts : [];
  expect(parts.map(({ id, effect }) => [id, effect])).toEqual([[rule.id, 'permit']]);
  // The whole path is one string of the condition, three times, and nothing of it is anything else.
  const literals = JSON.stringify(parts[0]?.json).split(JSON.stringify({ Value: path })).length - 1;
  expect(literals).toBe(3);
  expect(rule.policyText.replaceAll('\n', '')).toMatch(/^[ -~]*$/);
  expect(removeRule(text, rule.id)).toBe('// mine\n');
}

test.each(HOSTILE)('a file called %j stays one string in one rule', (name) => {
  expectOneLiteral(`/shop/${name}`);
});

test.each(['"]) || true //', 'x/../../etc/shadow', 'x//y', 'x/', '.', 'a\0b', '\uD800'])(
  'a path that ends in %j is not canonical, and there is no rule for it',
  (name) => {
    expect(() => ruleFor(`/shop/${name}`)).toThrow(expect.objectContaining({ code: 'policy.invalid_request' }));
  },
);

test('so does any name that a file can have', () => {
  const name = fc.string({ unit: 'binary', minLength: 1 }).map((text) => text.replaceAll(/[/\0]/g, '_').toWellFormed());
  fc.assert(
    fc.property(name, (text) => {
      fc.pre(text !== '.' && text !== '..');
      expectOneLiteral(`/shop/${text}`);
    }),
    { numRuns: 50 },
  );
});

test('the rule of a hostile path allows that path and no other', async () => {
  const paths = HOSTILE.map((name) => `/shop/${name}`);
  const rules = paths.map(ruleFor);
  const text = rules.reduce(addRule, '');
  const compiled = compile(text);
  const testText = rules.reduce(addRuleTest, '');
  const tests = parsePolicyTests([{ name: 't', text: testText, origin: ORIGIN }]);
  const results = await runPolicyTests(compiled, tests);
  requirePassed(results);

  const loaded = await loadPolicies(compiled);
  for (const { request, config } of tests) {
    const { facts } = request.context;
    if (facts.kind !== 'call') throw new Error('The test is not about a call.');
    const secretFiles = ['/shop/.env'];
    const other = { ...facts, enforced: { ...facts.enforced, secretFiles, readRoots: secretFiles } };
    const elsewhere = { ...request, context: { ...request.context, workspace: 'other' } };
    const engine = loaded.engine(config);
    expect(engine.decide({ ...request, context: { ...request.context, facts: other } }).kind).toBe('ask');
    expect(engine.decide(elsewhere).kind).toBe('ask');
  }
  loaded.close();
});

test.each([
  { kind: 'host', host: '"]) || true //:443' },
  { kind: 'host', host: 'a.example:443"' },
  { kind: 'registries', hosts: ['a.example:443', '"].contains("x'] },
  { kind: 'upstream', tool: 'x") when { true }; //', server: 's', definitionSha256: 'a'.repeat(64) },
  { kind: 'upstream', tool: 'x', server: 's" || true', definitionSha256: 'a'.repeat(64) },
  { kind: 'upstream', tool: 'x', server: 's', definitionSha256: `${'a'.repeat(63)}"` },
  { kind: 'path', fact: 'secret_file", "host', path: '/shop/.env', mode: 'read' },
] as const)('%j is refused before any text is made of it', (effect) => {
  const input = { workspace: WORKSPACE, effect: effect as AskedEffect, offer: 'always' } as const;
  expect(() => alwaysHereRule(input)).toThrow(expect.objectContaining({ code: 'policy.invalid_request' }));
  expect(() =>
    alwaysHereRule({ ...input, effect: { kind: 'host', host: 'a.example:443' }, workspace: 'x" || true' }),
  ).toThrow(expect.objectContaining({ code: 'policy.invalid_request' }));
});
