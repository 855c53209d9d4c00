import { expect, test } from 'vitest';
import { askableActions } from './askable-actions.ts';
import { toCedarRequest } from './cedar-request.ts';
import { compilePolicySet } from './compile-policy-set.ts';
import { createEvaluator } from './evaluator.ts';
import { applyEdits } from './fact-edits.ts';
import { actionsCovered, pathsReadBy, readPolicy } from './policy-expressions.ts';
import { PRESET_NAMES, readSchema } from './presets.ts';
import type { PolicyEvaluationConfig } from './request.ts';
import { requestFromSketch } from './request-sketch.ts';
import { EVERYTHING_LISTED } from './test-request.ts';
import { waysToSatisfy } from './ways-to-satisfy.ts';

const NONE_LISTED: PolicyEvaluationConfig = { ...EVERYTHING_LISTED, allowedTools: [], allowedSkills: [] };

test.each(PRESET_NAMES)('for every policy of %s a request is found that it applies to', async (preset) => {
  const actions = askableActions(readSchema());
  const { policies } = compilePolicySet({ preset, files: [] });
  for (const policy of policies) {
    const json = readPolicy(policy);
    if (json === undefined) throw new Error(`${policy.id} does not parse.`);
    const evaluator = await createEvaluator({ schema: readSchema(), policies: [policy], strictlyValid: true });
    const config = policy.id.startsWith('not-allowlisted') ? NONE_LISTED : EVERYTHING_LISTED;
    const applies = actionsCovered(json, actions).some((action) =>
      waysToSatisfy(json, 'applies').some((way) => {
        const sketch = applyEdits({ action: action.name, facts: {} }, way);
        // As after an approval for permits, as before one for forbids: what each is written for.
        const state = { approved: policy.effect === 'permit', assurance: 'user_verified' };
        const answer = evaluator.evaluate(toCedarRequest(requestFromSketch(sketch), config, state));
        return answer.kind === 'decided' && answer.reasons.includes(policy.id);
      }),
    );
    evaluator.close();
    expect([policy.id, applies]).toEqual([policy.id, true]);
  }
});

test('the paths that a policy reads are the longest ones, scope and `has` included', () => {
  const text = `@id("x") forbid (principal in Palyra::Group::"g", action, resource)
    when { context has workspace && context.enforced.hosts.contains("a:1") && context.declared.command_line like "*x*" }
    unless { if context.approved then resource == Palyra::Tool::"t" else ["C"].contains(context.enforced.tier) };`;
  expect(pathsReadBy({ text })).toEqual([
    'context.approved',
    'context.declared.command_line',
    'context.enforced.hosts',
    'context.enforced.tier',
    'context.workspace',
    'principal',
    'resource',
  ]);
  expect(pathsReadBy({ text: 'not a policy' })).toEqual([]);
});

test.each([' && ', ' || '])('a condition of two thousand parts joined by %j has few ways', (operator) => {
  const parts = Array.from({ length: 2000 }, (_, index) => `context.tool_name != "t${index}"`);
  const json = readPolicy({ text: `@id("x") forbid (principal, action, resource) when { ${parts.join(operator)} };` });
  expect(json && waysToSatisfy(json, 'applies').length).toBeLessThanOrEqual(24);
});
