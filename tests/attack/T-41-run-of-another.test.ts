// T-41: the caller chooses session, run or key: of another credential, whose grants and answers it would get.
import { afterEach, expect, test } from 'vitest';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { LEAVES_THE_BOX, testTool } from '../integration/gateway-tools-for-tests.ts';

let house: (GatewayHouse & { readonly root: string }) | undefined;

afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

test('ids of another credential name nothing, and a key is a key of its run only', async () => {
  let runs = 0;
  const tool = testTool({ execute: async () => ({ runs: runs++ }) });
  house = await openHouse({ tools: [tool] });
  const { gateway, agent, workspace } = house;
  const stranger = { ...agent, credential: 'stranger' };
  const mine = await gateway.startRun(agent, { workspace });
  await expect(gateway.resumeRun(stranger, mine.id)).rejects.toMatchObject({ code: 'gateway.run_not_found' });
  await expect(gateway.startRun(stranger, { workspace, session: mine.session })).rejects.toMatchObject({
    code: 'gateway.session_not_found',
  });
  const next = await gateway.startRun(agent, { workspace, session: mine.session });
  expect(next.session).toBe(mine.session);

  const theirs = await gateway.startRun(stranger, { workspace });
  const call = { tool: 'test.echo', input: '{"text":"a"}', key: 'k' };
  const [one, other] = [await mine.call(call), await theirs.call(call)];
  expect([runs, one.call_id === other.call_id]).toEqual([2, false]);
});

test('a question is found by the key of its own run only', async () => {
  house = await openHouse({ tools: [testTool({ enforced: LEAVES_THE_BOX })], unattended: 'park' });
  const { gateway, agent, workspace, approvals } = house;
  const asked = async (credential: string, text: string) => {
    const run = await gateway.startRun({ ...agent, credential }, { workspace });
    const { outcome } = await run.call({ tool: 'test.echo', input: JSON.stringify({ text }), key: '1' });
    return outcome.code;
  };
  // Agents number their calls: the first one of every run has the same key.
  const codes = [await asked('local-agent', 'a'), await asked('local-agent', 'b'), await asked('stranger', 'c')];
  expect(codes).toEqual(Array.from({ length: 3 }, () => 'gateway.approval_pending'));
  expect(await approvals.pending({ limit: 10 })).toHaveLength(3);
});

test('whoever comes back to a run is who is connected now, not who was', async () => {
  house = await openHouse({ tools: [testTool()] });
  const { gateway, agent, workspace } = house;
  const before = await gateway.startRun(agent, { workspace });
  const now = await gateway.resumeRun({ ...agent, coverage: 'mcp_only' }, before.id);
  const call = { tool: 'test.echo', input: '{"text":"a"}' };
  expect((await now.call(call)).attestation.coverage).toBe('mcp_only');
  expect((await before.call(call)).attestation.coverage).toBe('wrapped');
});
