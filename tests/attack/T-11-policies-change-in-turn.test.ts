// T-11: the policies change while a call that was allowed waits for its turn, and it begins all the same.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { testTool } from '../integration/gateway-tools-for-tests.ts';

let house: (GatewayHouse & { readonly root: string }) | undefined;

afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

const RULE =
  '@id("own") forbid (principal, action == Palyra::Action::"tool.execute", resource == Palyra::Tool::"test.second");';

test('what is denied by now does not begin', async () => {
  let runs = 0;
  const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = testTool({
    name: 'test.first',
    isParallel: false,
    execute: async () => {
      begun.resolve();
      await go.promise;
      return {};
    },
  });
  const counting = { isParallel: false, execute: async () => ({ runs: runs++ }) };
  const tools = [first, testTool({ name: 'test.second', ...counting }), testTool({ name: 'test.third', ...counting })];
  house = await openHouse({ tools, ownPolicies: true });
  const { gateway, agent, workspace, policy, root } = house;
  const run = await gateway.startRun(agent, { workspace });
  const call = (tool: string) => run.call({ tool, input: '{"text":"a"}' });
  const running = call('test.first');
  await begun.promise;
  // Decided and allowed; nothing is recorded of them while they wait.
  const [second, third] = [call('test.second'), call('test.third')];
  await new Promise((resolve) => setTimeout(resolve, 100));

  mkdirSync(join(root, 'policies'), { recursive: true, mode: 0o700 });
  writeFileSync(join(root, 'policies', 'own.cedar'), RULE, { mode: 0o600 });
  await policy.apply();
  go.resolve();

  await running;
  expect((await second).outcome).toMatchObject({ kind: 'refused', code: 'gateway.changed_meanwhile' });
  expect((await third).outcome.kind).toBe('completed');
  expect([runs, await house.verdict()]).toEqual([1, 'sound']);
});
