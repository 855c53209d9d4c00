// T-41: the caller chooses session, run or key: of another credential, whose grants and answers it would get.
import { afterEach, expect, test } from 'vitest';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { testTool } from '../integration/gateway-tools-for-tests.ts';

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
