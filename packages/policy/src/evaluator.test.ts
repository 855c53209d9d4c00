import { expect, test } from 'vitest';
import type { EvaluationRequest } from './cedar.ts';
import { createEvaluator, type EvaluatorOptions } from './evaluator.ts';

const SCHEMA = `
entity Group; entity User in [Group]; entity Tool;
type C = { tool: String, on: Bool };
action all;
action run, list in [all] appliesTo { principal: User, resource: Tool, context: C };`;

const request = (tool: string, action = 'run'): EvaluationRequest => ({
  principal: { type: 'User', id: 'ana' },
  action: { type: 'Action', id: action },
  resource: { type: 'Tool', id: tool },
  context: { tool, on: true },
  entities: [{ uid: { type: 'User', id: 'ana' }, attrs: {}, parents: [{ type: 'Group', id: 'g' }] }],
});

function evaluator(texts: readonly string[], options: Partial<EvaluatorOptions> = {}) {
  const policies = texts.map((text, index) => ({ id: `p${index}`, text }));
  return createEvaluator({ schema: SCHEMA, policies, strictlyValid: true, ...options });
}

const PERMIT = 'permit(principal, action, resource);';

test('a forbid in one chunk outweighs the permits in others, and reasons are sorted', async () => {
  const forbid = 'forbid(principal in Group::"g", action, resource) when { context.tool == "rm" };';
  const chunk = { mostPolicies: 2, mostCharacters: 10_000 };
  const subject = await evaluator([...Array.from({ length: 11 }, () => PERMIT), forbid, forbid], { chunk });
  expect([subject.evaluate(request('ls')), subject.evaluate(request('rm'))]).toEqual([
    {
      kind: 'decided',
      decision: 'allow',
      reasons: ['p0', 'p1', 'p10', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7', 'p8', 'p9'],
      errors: [],
    },
    { kind: 'decided', decision: 'deny', reasons: ['p11', 'p12'], errors: [] },
  ]);
  subject.close();
});

test('without policies everything is denied, and requests are still validated', async () => {
  const subject = await evaluator([]);
  expect(subject.evaluate(request('ls'))).toEqual({ kind: 'decided', decision: 'deny', reasons: [], errors: [] });
  expect(subject.evaluate(request('ls', 'fly')).kind).toBe('failed');
  expect(subject.evaluate({ ...request('ls'), context: { tool: 'ls' } }).kind).toBe('failed');
  subject.close();
});

test('a request that is not what its type says fails', async () => {
  const subject = await evaluator([PERMIT]);
  const ana = { type: 'User', id: 'ana' };
  const broken = [
    { entities: [{ uid: undefined }] },
    { entities: [{ uid: ana, attrs: {}, parents: [{ __entity: { type: 'Group', id: 'g' } }] }] },
    { entities: [{ uid: { ...ana, __entity: { type: 'User', id: 'ben' } }, attrs: {}, parents: [] }] },
    { principal: { ...ana, __entity: { type: 'User', id: 'ben' } } },
    { action: { ...request('ls').action, __entity: { type: 'Action', id: 'list' } } },
    { context: undefined },
  ];
  for (const part of broken) {
    const asked = { ...request('ls'), ...part } as unknown as EvaluationRequest;
    expect(subject.evaluate(asked).kind).toBe('failed');
  }
  subject.close();
});

test('a closed evaluator fails, and closing twice is harmless', async () => {
  const subject = await evaluator([PERMIT]);
  subject.close();
  subject.close();
  expect(subject.evaluate(request('ls'))).toEqual({ kind: 'failed', message: 'The evaluator is closed.' });
});

test.each([
  ['a schema that does not parse', { schema: 'entity ;' }, 'policy.invalid_schema'],
  ['a policy that does not parse', { policies: [{ id: 'a', text: 'permit();' }] }, 'policy.invalid_policy_set'],
  [
    'two policies with one id',
    {
      policies: [
        { id: 'a', text: PERMIT },
        { id: 'a', text: PERMIT },
      ],
    },
    'policy.invalid_policy_set',
  ],
  [
    'a template',
    { policies: [{ id: 'a', text: 'permit(principal == ?principal, action, resource);' }] },
    'policy.invalid_policy_set',
  ],
])('%s is refused', async (_what, options, code) => {
  await expect(evaluator([], options)).rejects.toMatchObject({ code });
});

test('warming up lets others run, and changes no answer', async () => {
  const subject = await evaluator(Array.from({ length: 1000 }, () => PERMIT));
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  await subject.warmUp();
  clearInterval(timer);
  expect(turns).toBeGreaterThan(2);
  const result = subject.evaluate(request('ls'));
  expect(result).toMatchObject({ decision: 'allow', errors: [] });
  expect(result.kind === 'decided' && result.reasons.length).toBe(1000);
  subject.close();
});
