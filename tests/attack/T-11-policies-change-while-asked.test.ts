// T-11: the policies change while a human is asked, and the old question is answered, or goes on being asked, all the same.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { LEAVES_THE_BOX, testTool } from '../integration/gateway-tools-for-tests.ts';

let house: (GatewayHouse & { readonly root: string }) | undefined;

afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

const PATIENT = { timeout: 20_000 };

const RULES = {
  denied:
    '@id("own") forbid (principal, action == Palyra::Action::"tool.execute", resource == Palyra::Tool::"test.a");',
  allowed:
    '@id("mine") permit (principal, action == Palyra::Action::"tool.execute", resource == Palyra::Tool::"test.b");',
  asked:
    '@id("other") forbid (principal, action == Palyra::Action::"tool.execute", resource == Palyra::Tool::"x.other");',
};

test('what is denied by now is refused, what is allowed by now runs, and what is still asked stays the same question', async () => {
  const tools = ['test.a', 'test.b', 'test.c'].map((name) => testTool({ name, enforced: LEAVES_THE_BOX }));
  house = await openHouse({ tools, ownPolicies: true });
  const { gateway, agent, workspace, approvals, policy, root } = house;
  const run = await gateway.startRun(agent, { workspace });
  const [denied, allowed] = tools.map(({ metadata: { name } }) => run.call({ tool: name, input: '{"text":"a"}' }));
  const asked = vi.waitFor(async () => {
    const cards = await approvals.pending({ limit: 10 });
    if (cards.length < 3) throw new Error('not all are asked yet');
    return cards;
  }, PATIENT);
  const before = await asked;

  mkdirSync(join(root, 'policies'), { recursive: true, mode: 0o700 });
  writeFileSync(join(root, 'policies', 'own.cedar'), Object.values(RULES).join('\n'), { mode: 0o600 });
  await policy.apply();

  expect(await denied).toMatchObject({ decision: { kind: 'deny', policy_ids: ['own'] }, outcome: { kind: 'refused' } });
  expect(await allowed).toMatchObject({ decision: { kind: 'allow' }, outcome: { kind: 'completed' } });
  await vi.waitFor(async () => {
    const left = await approvals.pending({ limit: 10 });
    expect(left).toHaveLength(1);
    expect(before.map(({ approvalId }) => approvalId)).toContain(left[0]?.approvalId);
  }, PATIENT);
  await run.cancel();
});
