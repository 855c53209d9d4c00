import { afterAll, expect, test } from 'vitest';
import { compilePolicies, type LoadedPolicies, loadPolicies } from './compiled-policies.ts';
import { type Explanation, explain } from './explain.ts';
import type { PresetName } from './policy-set.ts';
import type { WrittenRequest } from './policy-test-format.ts';
import type { PolicyEvaluationConfig } from './request.ts';
import { EVERYTHING_LISTED, testRequest } from './test-request.ts';
import type { WhatIfDeps } from './what-if.ts';

const FROZEN = `@id("freeze")
@reason("Releases are frozen.")
forbid (principal, action == Palyra::Action::"tool.execute", resource)
when { context.declared.command_line like "*npm publish*" };

@id("big-box")
@tier("A")
permit (principal, action == Palyra::Action::"tool.execute", resource == Palyra::Tool::"x.strong");`;

const known = new Map<PresetName, Promise<Omit<WhatIfDeps, 'config'>>>();
const opened: LoadedPolicies[] = [];

async function open(preset: PresetName): Promise<Omit<WhatIfDeps, 'config'>> {
  const files = [{ name: 'policies/own.cedar', text: FROZEN, origin: { kind: 'operator' } as const }];
  const compiled = compilePolicies({ preset, files });
  const loaded = await loadPolicies(compiled);
  opened.push(loaded);
  return { compiled, loaded };
}

afterAll(() => {
  for (const loaded of opened) loaded.close();
});

interface Case {
  readonly preset?: PresetName;
  readonly config?: Partial<PolicyEvaluationConfig>;
}

async function explained(written: WrittenRequest, { preset = 'coding', config }: Case = {}): Promise<Explanation> {
  const deps = known.get(preset) ?? open(preset);
  known.set(preset, deps);
  return explain(testRequest({}, written), { ...(await deps), config: { ...EVERYTHING_LISTED, ...config } });
}

test('an allowed call shows the policy that allows it and the facts that it reads', async () => {
  const found = await explained({});
  expect(found.decision.kind).toBe('allow');
  expect(found.policies).toMatchObject([{ id: 'in-the-box', effect: 'permit', file: 'palyra:coding.cedar' }]);
  expect(found.policies[0]?.text).toContain('@id("in-the-box")');
  expect(found.facts).toEqual([
    { name: 'action', value: 'Palyra::Action::"tool.execute"', origin: 'situation', readBy: ['in-the-box'] },
    { name: 'context.enforced.leaves', value: [], origin: 'enforced', readBy: ['in-the-box'] },
    { name: 'context.enforced.tier', value: 'C', origin: 'enforced', readBy: ['in-the-box'] },
  ]);
  expect(found.wouldChange).toEqual([]);
});

test('an asked call would be allowed if approved, and without what leaves the box', async () => {
  const found = await explained({ enforced: { hosts: ['example.com:443'] } });
  expect(found.decision).toMatchObject({ kind: 'ask', policyIds: ['new-host'] });
  expect(found.wouldChange).toEqual([
    { kind: 'approved', answer: 'allow', assurance: 'same_host_key', approvers: 1 },
    { kind: 'not_leaving', answer: 'allow', leavings: ['host'] },
  ]);
});

test('when two things leave the box only leaving out both helps, and that is what is said', async () => {
  const found = await explained({ enforced: { hosts: ['example.com:443'], secrets: ['token'] } });
  expect(found.wouldChange.filter(({ kind }) => kind === 'not_leaving')).toEqual([
    { kind: 'not_leaving', answer: 'allow', leavings: ['host', 'secret'] },
  ]);
});

test('a tool that is not on its list is told apart from a principal that is not', async () => {
  const tool = await explained({}, { config: { allowedTools: ['palyra.fs.*'] } });
  expect(tool.decision.policyIds).toEqual(['not-allowlisted']);
  expect(tool.wouldChange).toEqual([
    { kind: 'listed', answer: 'allow', lists: ['tool'] },
    { kind: 'without_forbid', answer: 'allow', policyIds: ['not-allowlisted'] },
  ]);
  const both = await explained({}, { config: { allowedTools: [], allowedPrincipals: [] } });
  expect(both.wouldChange[0]).toEqual({ kind: 'listed', answer: 'allow', lists: ['tool', 'principal'] });
});

test('a forbid is named, its declared facts are marked, and no approval is promised', async () => {
  const found = await explained({ declared: { executable: 'npm', arguments: ['publish'] } });
  expect(found.decision).toMatchObject({ kind: 'deny', reasonCode: 'forbidden', policyIds: ['freeze'] });
  expect(found.facts).toContainEqual({
    name: 'context.declared.command_line',
    value: 'npm publish',
    origin: 'declared',
    readBy: ['freeze'],
  });
  expect(found.wouldChange).toEqual([{ kind: 'without_forbid', answer: 'allow', policyIds: ['freeze'] }]);
});

test('where nothing permits, that is said, with what the permits for the action read', async () => {
  const found = await explained({ action: 'vault.use', resource: 'secret:token', scope: 'team', own_scopes: ['ada'] });
  expect(found.decision.reasonCode).toBe('no_permit');
  expect(found.wouldChange).toEqual([{ kind: 'permit_missing' }]);
  expect(found.facts).toContainEqual({
    name: 'context.own_scopes',
    value: ['ada'],
    origin: 'situation',
    readBy: ['vault-own'],
  });
});

test('a tier that is too weak is told with the one that would do', async () => {
  const found = await explained({ resource: 'tool:x.strong' });
  expect(found.decision.reasonCode).toBe('obligation_unmet');
  expect(found.policies.find(({ id }) => id === 'big-box')).toMatchObject({ file: 'policies/own.cedar', line: 6 });
  expect(found.wouldChange).toEqual([{ kind: 'stronger_plan', answer: 'allow', tier: 'A', egress: 'strict' }]);
});

test('under the locked preset a sensitive call would be allowed if approved', async () => {
  const found = await explained({ capabilities: ['network'] }, { preset: 'locked' });
  expect(found.decision).toMatchObject({ kind: 'ask', policyIds: ['allow-listed-tool', 'deny-sensitive'] });
  expect(found.wouldChange[0]).toMatchObject({ kind: 'approved', answer: 'allow' });
});

test('under the observe preset the page is of what is enforced, and what was observed is beside it', async () => {
  const found = await explained({ enforced: { tier: 'B' } }, { preset: 'observe' });
  expect(found.decision).toMatchObject({ kind: 'allow', observed: { kind: 'ask' } });
});

test('a malformed request is a denial that explains itself, without facts', async () => {
  const found = await explained({ enforced: { hosts: ['EXAMPLE.com:443'] } });
  expect(found.decision.reasonCode).toBe('invalid_request');
  expect([found.policies, found.facts]).toEqual([[], []]);
});
