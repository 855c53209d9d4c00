import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AlwaysHereRule, alwaysHereRule } from './always-here.ts';
import { addRule, addRuleTest, removeRule } from './rule-blocks.ts';

function rule(host: string): AlwaysHereRule {
  return alwaysHereRule({ workspace: 'shop', effect: { kind: 'host', host }, offer: 'always' });
}

const A = rule('a.example:443');
const B = rule('b.example:443');

test('a rule stands between two markers at the end of the file', () => {
  expect(addRule('// mine\n', A)).toBe(
    `// mine\n// palyra:always ${A.id} begin\n${A.policyText}\n// palyra:always ${A.id} end\n`,
  );
  expect(addRuleTest('', A)).toBe(`# palyra:always ${A.id} begin\n${A.testText}\n# palyra:always ${A.id} end\n`);
});

test('a rule that is there already is not added again', () => {
  const text = addRule('', A);
  expect(addRule(text, A)).toBe(text);
});

test.each([
  ['empty', ''],
  ['one line', '// mine\n'],
  ['no line break at the end', '// mine'],
  ['CRLF', '// mine\r\npermit (principal, action, resource);\r\n'],
  ['CRLF and no line break at the end', '// mine\r\n// more'],
  ['mixed', '// mine\r\n// more\n'],
  ['blank lines at the end', '// mine\n\n\n'],
  ['only a line break', '\n'],
  ['a byte order mark', '\uFEFF// mine'],
])('taking out what was put in gives the same bytes: %s', (_what, text) => {
  for (const [add, comment] of [
    [addRule, '//'],
    [addRuleTest, '#'],
  ] as const) {
    const added = add(text, A);
    expect(added).toContain(`${comment} palyra:always ${A.id} begin`);
    expect(removeRule(added, A.id)).toBe(text);
    const two = add(added, B);
    expect(removeRule(removeRule(two, B.id), A.id)).toBe(text);
    expect(removeRule(removeRule(two, A.id), B.id)).toBe(text);
  }
});

test('a file in CRLF stays in CRLF', () => {
  expect(addRule('// a\r\n', A).replaceAll('\r\n', '')).not.toContain('\n');
});

test('what the operator wrote around a rule stays to the byte', () => {
  const text = addRule('// mine', A);
  expect(removeRule(`// new\n${text}// below`, A.id)).toBe('// new\n// mine\n// below');
  expect(removeRule(text.replace('// mine', '// changed'), A.id)).toBe('// changed');
  expect(removeRule(text.trimEnd(), A.id)).toBe('// mine');
});

test('any text comes back, whatever is written before and after in between', () => {
  const line = fc.constantFrom(
    '',
    '// x',
    'permit (principal, action, resource);',
    '// palyra:always begin',
    A.policyText,
  );
  const texts = fc.tuple(fc.array(line), fc.constantFrom('\n', '\r\n')).map(([all, lineBreak]) => all.join(lineBreak));
  fc.assert(
    fc.property(texts, texts, texts, (text, before, after) => {
      expect(removeRule(addRule(text, A), A.id)).toBe(text);
      const edited = `${before}\n${addRule(text, A)}${after}`;
      const left = removeRule(edited, A.id);
      expect(left.startsWith(`${before}\n${text}`)).toBe(true);
      expect(left.endsWith(after)).toBe(true);
      expect(left.length - before.length - text.length - after.length).toBeLessThanOrEqual(3);
    }),
  );
});

test.each(['always-00000000', 'always-', '.*', '', 'new-host'])('%j is not there to be removed', (id) => {
  expect(() => removeRule(addRule('', A), id)).toThrow(expect.objectContaining({ code: 'policy.invalid_request' }));
});
