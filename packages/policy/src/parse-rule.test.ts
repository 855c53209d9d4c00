import { expect, test } from 'vitest';
import { alwaysHereRule } from './always-here.ts';
import { parseRule, RULE_FORMS } from './parse-rule.ts';
import { addRule, addRuleTest, rulesIn } from './rule-blocks.ts';

const parse = (text: string) => parseRule({ text, workspaceRoot: '/shop', registryHosts: ['packages.example:443'] });
const DIGEST = 'ab'.repeat(32);

test.each([
  ['host:a.example', { kind: 'host', host: 'a.example:443' }],
  ['host:a.example:80', { kind: 'host', host: 'a.example:80' }],
  ['host:[2001:4860::1]', { kind: 'host', host: '[2001:4860::1]:443' }],
  ['host:[2001:4860::1]:80', { kind: 'host', host: '[2001:4860::1]:80' }],
  ['registries', { kind: 'registries', hosts: ['packages.example:443'] }],
  ['registries:a.example,b.example:80', { kind: 'registries', hosts: ['a.example:443', 'b.example:80'] }],
  ['secret-file:.env', { kind: 'path', fact: 'secret_file', path: '/shop/.env', mode: 'read' }],
  ['secret-file:a:b', { kind: 'path', fact: 'secret_file', path: '/shop/a:b', mode: 'read' }],
  ['secret-file-write:/shop/.env', { kind: 'path', fact: 'secret_file', path: '/shop/.env', mode: 'write' }],
  ['outside-path:/srv', { kind: 'path', fact: 'outside_path', path: '/srv', mode: 'read' }],
  ['outside-path-write:/srv', { kind: 'path', fact: 'outside_path', path: '/srv', mode: 'write' }],
  [
    `mcp-tool:mail:mcp.mail.send:${DIGEST}`,
    { kind: 'upstream', server: 'mail', tool: 'mcp.mail.send', definitionSha256: DIGEST },
  ],
])('%s', (text, effect) => {
  expect(parse(text)).toEqual(effect);
  expect(alwaysHereRule({ workspace: 'shop', effect: parse(text), offer: 'always' }).id).toMatch(/^always-/);
});

test.each(['', ':', 'any', 'Host:a.example', 'path:/x', 'mcp-tool:a:b:c:d', '*'])(
  '%j is no rule, and the forms are told',
  (text) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({
        code: 'policy.invalid_request',
        fix: expect.stringContaining(Object.keys(RULE_FORMS)[0] ?? ''),
      }),
    );
  },
);

test.each([
  'host:',
  'host:A.example',
  'host:*',
  'secret-file:',
  'secret-file:../x',
  'secret-file:./.env',
  'registries:',
])('%s is read, and no rule is made of it', (text) => {
  expect(() => alwaysHereRule({ workspace: 'shop', effect: parse(text), offer: 'always' })).toThrow(
    expect.objectContaining({ code: 'policy.invalid_request' }),
  );
});

test('rules are found in a file, and nothing that only looks like one', () => {
  const [a, b] = ['a.example', 'b.example'].map((host) =>
    alwaysHereRule({ workspace: 'shop', effect: parse(`host:${host}`), offer: 'always' }),
  ) as [ReturnType<typeof alwaysHereRule>, ReturnType<typeof alwaysHereRule>];
  const text = addRule(addRule('// mine\r\n', a), b);
  expect(rulesIn(text)).toEqual([
    { id: a.id, text: a.policyText },
    { id: b.id, text: b.policyText },
  ]);
  expect(rulesIn(addRuleTest('', a))).toEqual([{ id: a.id, text: a.testText }]);
  expect(rulesIn(text.replace(`${a.id} end`, ''))).toEqual([{ id: b.id, text: b.policyText }]);
  expect(rulesIn('// palyra:always always-0 begin\n')).toEqual([]);
});
