import { describe, expect, test } from 'vitest';
import { authorize, policyToText, preparePolicies, prepareSchema, splitPolicies, validatePolicies } from './cedar.ts';

const SCHEMA = 'entity U; action a appliesTo { principal: U, resource: U, context: { n: Long, s?: String } };';
const request = (context: Record<string, unknown>) => ({
  principal: { type: 'U', id: 'x' },
  action: { type: 'Action', id: 'a' },
  resource: { type: 'U', id: 'x' },
  context,
  entities: [],
});

function ask(policy: string, context: Record<string, unknown>) {
  prepareSchema('cedar-test', SCHEMA);
  preparePolicies('cedar-test', [{ id: 'p', text: policy }]);
  return authorize(request(context), { policySlot: 'cedar-test', schemaSlot: 'cedar-test', validateRequest: true });
}

describe('a policy file is split', () => {
  test('in file order, with the id, the text and the place of each policy', () => {
    const second = '@id("é;2")\n  @reason forbid(principal, action, resource) // ;\n  when { context.s == "a;\\"//" };';
    const source = `// héllo ; "\n@id("1") permit(principal, action, resource);\t${second}\npermit(principal == ?principal, action, resource);// end`;
    const answer = splitPolicies(source);
    expect(answer.kind === 'split' && answer.parts.map(({ json: _json, ...part }) => part)).toEqual([
      {
        kind: 'policy',
        id: '1',
        text: '@id("1") permit(principal, action, resource);',
        position: { line: 2, column: 1 },
        effect: 'permit',
        annotations: new Map([['id', '1']]),
      },
      {
        kind: 'policy',
        id: 'é;2',
        text: second,
        position: { line: 2, column: 47 },
        effect: 'forbid',
        annotations: new Map([
          ['id', 'é;2'],
          ['reason', ''],
        ]),
      },
      {
        kind: 'template',
        id: undefined,
        text: 'permit(principal == ?principal, action, resource);',
        position: { line: 5, column: 1 },
        effect: 'permit',
        annotations: new Map(),
      },
    ]);
  });

  test('when more than ten policies look the same', () => {
    const answer = splitPolicies('permit(principal, action, resource);\n'.repeat(12));
    const lines = answer.kind === 'split' ? answer.parts.map(({ position }) => position.line) : [];
    expect(lines).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });

  test('or refused with line and column, counted in characters', () => {
    expect(splitPolicies('// ééé 🐢\npermit(principal, action, resource)\n  when { "é🐢" == = 1 };')).toEqual({
      kind: 'failed',
      problems: [
        {
          message: expect.stringContaining('unexpected token `=`'),
          help: undefined,
          position: { line: 3, column: 18 },
        },
      ],
    });
  });

  test('and an empty file has no policies', () => {
    expect(splitPolicies(' // nothing; here\n')).toEqual({ kind: 'split', parts: [] });
  });
});

describe('strict validation', () => {
  test('names the policy and the place in its own text', () => {
    const text = 'permit(principal, action, resource)\n  when { "é" == "é" && context.nope == 1 };';
    expect(validatePolicies(SCHEMA, [{ id: '__proto__', text }])).toEqual({
      kind: 'validated',
      valid: false,
      findings: [
        {
          severity: 'error',
          policyId: '__proto__',
          message: expect.stringContaining('nope'),
          help: expect.anything(),
          position: { line: 2, column: 24 },
        },
      ],
    });
  });

  test('passes with warnings, which are told', () => {
    const answer = validatePolicies(SCHEMA, [{ id: 'p', text: 'permit(principal, action, resource) when { false };' }]);
    expect(answer).toMatchObject({
      kind: 'validated',
      valid: true,
      findings: [{ severity: 'warning', policyId: 'p' }],
    });
  });

  test('fails for a schema that does not parse', () => {
    expect(validatePolicies('entity ;', []).kind).toBe('failed');
  });
});

describe('an evaluation', () => {
  test('takes integers beyond 2^53 as bigints, exactly', () => {
    const policy = 'permit(principal, action, resource) when { context.n == 9223372036854775807 };';
    expect(ask(policy, { n: 9223372036854775807n })).toMatchObject({ kind: 'answered', decision: 'allow' });
    expect(ask(policy, { n: 9223372036854775806n })).toMatchObject({ kind: 'answered', decision: 'deny' });
  });

  const LOOSE = 'permit(principal, action, resource);';
  test.each([
    ['a number that was rounded', { n: 2 ** 53 }],
    ['a fraction', { n: 1.5 }],
    ['an integer that no Long holds', { n: 9223372036854775808n }],
    ['null', { n: null }],
    ['undefined', { n: 1, s: undefined }],
    ['half a surrogate pair', { n: 1, s: '\ud800' }],
    ['an object that writes itself', { n: 1, s: new Date(0) }],
    ['an own toJSON', { n: 1, toJSON: () => ({ n: 1 }) }],
    ['what the schema does not know', { n: 1, other: true }],
    ['a missing attribute', {}],
    ['a key of every object', JSON.parse('{"n":1,"__proto__":{"s":"x"}}')],
  ])('fails for %s, and throws nothing', (_what, context) => {
    expect(ask(LOOSE, context).kind).toBe('failed');
  });

  test('fails for a slot that was never prepared', () => {
    const slots = { policySlot: 'never', schemaSlot: 'cedar-test', validateRequest: true };
    expect(authorize(request({ n: 1 }), slots).kind).toBe('failed');
  });

  test('names the policies that raise an error', () => {
    expect(ask('forbid(principal, action, resource) when { context.n + 1 > 0 };', { n: 9223372036854775807n })).toEqual(
      {
        kind: 'answered',
        decision: 'deny',
        reasons: [],
        errors: [{ policyId: 'p', message: expect.stringContaining('overflow') }],
      },
    );
  });
});

test('JSON that is no policy is a failure', () => {
  expect(policyToText({ effect: 'permit' }).kind).toBe('failed');
});
