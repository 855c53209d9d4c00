import { expect, test } from 'vitest';
import type { EvaluationRequest } from './cedar.ts';
import type { Evaluator } from './evaluator.ts';
import type { PolicyRecord } from './policy-set.ts';
import { rememberAnswers } from './remembered-answers.ts';

const PERMIT = 'permit(principal, action, resource);';

/** Counts how often it is asked, and answers with what it was asked. */
function asked(
  texts: readonly string[],
  result: Partial<Extract<ReturnType<Evaluator['evaluate']>, { kind: 'decided' }>> = {},
) {
  const seen: EvaluationRequest[] = [];
  const evaluator: Evaluator = {
    evaluate(request) {
      seen.push(request);
      return { kind: 'decided', decision: 'allow', reasons: [String(seen.length)], errors: [], ...result };
    },
    warmUp: async () => {},
    close: () => {},
  };
  const policies = texts.map((text, index) => ({ id: `p${index}`, text }) as PolicyRecord);
  return { seen, remembering: rememberAnswers(evaluator, policies) };
}

const request = (context: Readonly<Record<string, unknown>> = {}): EvaluationRequest => ({
  principal: { type: 'User', id: 'ana' },
  action: { type: 'Action', id: 'run' },
  resource: { type: 'Tool', id: 'ls' },
  context: {
    now: instant('2026-11-16T00:00:00.000Z'),
    run_id: 'a',
    declared: { arguments: ['x'] },
    tier: 'C',
    ...context,
  },
  entities: [],
});

function instant(arg: string) {
  return { __extn: { fn: 'datetime', arg } };
}

const LATER = { now: instant('2026-11-16T00:00:00.001Z'), run_id: 'b', declared: { arguments: ['y'] } };

test('what no policy reads makes no other request', () => {
  const { seen, remembering } = asked([PERMIT, 'forbid(principal, action, resource) when { context.tier == "B" };']);
  expect(remembering.evaluate(request())).toEqual(remembering.evaluate(request(LATER)));
  expect(seen).toHaveLength(1);
});

// Each attribute is read in one of the ways that there are; the request differs in it alone.
const READERS = [
  ['now', 'when { context.now < datetime("2026-11-17") }'],
  ['run_id', 'when { context has run_id && context.run_id == "b" }'],
  ['run_id', 'when { context has run_id }'],
  ['declared', 'when { context.declared.arguments.contains("y") }'],
  ['now', 'when { context == context }'],
  ['declared', 'when { {c: context}.c has declared }'],
  ['declared', 'when { {".": context}["."] has declared }'],
  ['declared', 'when { {"has": context}["has"] has declared }'],
  ['declared', 'when { {"Var": context}["Var"] has declared }'],
  ['run_id', 'unless { (if true then context else context) has run_id }'],
] as const;

test.each(READERS)('%s is compared once a policy reads it: %s', (name, condition) => {
  const { seen, remembering } = asked([PERMIT, `permit(principal, action, resource) ${condition};`]);
  remembering.evaluate(request());
  remembering.evaluate(request({ [name]: LATER[name] }));
  expect(seen).toHaveLength(2);
});

test('every other difference is another request', () => {
  const { seen, remembering } = asked([PERMIT]);
  const others: readonly Partial<EvaluationRequest>[] = [
    {},
    { principal: { type: 'User', id: 'ben' } },
    { action: { type: 'Action', id: 'list' } },
    { resource: { type: 'Tool', id: 'rm' } },
    { entities: [{ uid: { type: 'User', id: 'ana' }, attrs: {}, parents: [{ type: 'Group', id: 'g' }] }] },
    { context: request({ tier: 'B' }).context },
    { context: request({ channel: 'c' }).context },
  ];
  for (const other of others) remembering.evaluate({ ...request(), ...other });
  expect(seen).toHaveLength(others.length);
});

test('a policy that does not parse reads everything', () => {
  const { seen, remembering } = asked([PERMIT, 'permit(']);
  remembering.evaluate(request());
  remembering.evaluate(request(LATER));
  expect(seen).toHaveLength(2);
});

test('neither faults nor requests without a plain instant are remembered, nor anything after the end', () => {
  const faulty = asked([PERMIT], { errors: [{ policyId: 'p0', message: 'failed' }] });
  const { seen, remembering } = asked([PERMIT]);
  for (let times = 0; times < 2; times += 1) {
    faulty.remembering.evaluate(request());
    remembering.evaluate(request({ now: instant('+010000-01-01T00:00:00.000Z') }));
    remembering.evaluate(request({ now: 1 }));
  }
  expect([faulty.seen.length, seen.length]).toEqual([2, 4]);
  remembering.evaluate(request());
  remembering.close();
  remembering.evaluate(request());
  expect(seen).toHaveLength(6);
});
