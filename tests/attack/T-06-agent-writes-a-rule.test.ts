// T-06: an agent allows itself something for good, by answering its own question or by writing the rule.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFakeCredentials, decideAsShown } from '@palyra/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type DaemonHouse, openDaemonHouse } from '../integration/daemon-house.ts';

const credentials = createFakeCredentials();
const robot = credentials.issue('robot', { kind: 'agent', person: 'agent:coder' });

let house: DaemonHouse;

beforeEach(async () => {
  house = await openDaemonHouse({ verify: credentials.verify });
  writeFileSync(join(house.workspace.root, '.env'), 'A=1\n');
});
afterEach(() => house.close());

const rulesFile = () => existsSync(join(house.home.policies, 'workspaces'));

test('an agent neither allows, lists nor takes out', async () => {
  const { daemon, agent, workspace } = house;
  const NO = { code: 'gateway.not_authorized' };
  const inGroup = { ...agent, groups: ['operator', 'admin'] };
  for (const by of [agent, inGroup]) {
    await expect(daemon.rules.allow({ workspace, rule: 'host:example.org', by })).rejects.toMatchObject(NO);
    await expect(daemon.rules.remove(by, 'always-00000000000000000000000000000000')).rejects.toMatchObject(NO);
    expect(() => daemon.rules.list(by)).toThrow(expect.objectContaining(NO));
  }
  expect(rulesFile()).toBe(false);
});

test('a human without the office does not either', async () => {
  const { daemon, operator, workspace } = house;
  const by = { ...operator, groups: [] };
  await expect(daemon.rules.allow({ workspace, rule: 'host:example.org', by })).rejects.toMatchObject({
    code: 'gateway.not_authorized',
  });
  expect(rulesFile()).toBe(false);
});

test('nor does an agent that answers for good', async () => {
  const { daemon, agent, workspace } = house;
  const before = daemon.policies.current().digest;
  const run = await daemon.gateway.startRun(agent, { workspace });
  const asking = run.call({ tool: 'palyra.fs.read', input: '{"path":".env"}' });
  const { approvalId } = await house.asked();
  const answer = { decision: 'approve', scope: 'always', by: robot } as const;
  expect(await decideAsShown(daemon.approvals, approvalId, answer)).toMatchObject({ code: 'agent_cannot_decide' });
  expect([daemon.policies.current().digest, rulesFile()]).toEqual([before, false]);
  await run.cancel();
  await asking;
});
