// T-02: a human is asked about a command whose bytes cannot be tied down, so that the yes would be for whatever runs then.
import { afterEach, expect, test } from 'vitest';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { LEAVES_THE_BOX, testTool } from '../integration/gateway-tools-for-tests.ts';

let house: (GatewayHouse & { readonly root: string }) | undefined;

afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

test('nobody is asked, and it does not run', async () => {
  let runs = 0;
  const tool = testTool({ enforced: LEAVES_THE_BOX, execute: async () => ({ runs: runs++ }) });
  const refusal = {
    kind: 'refused',
    code: 'sandbox.not_bindable',
    message: 'It is too large.',
    fix: undefined,
  } as const;
  house = await openHouse({
    tools: [
      {
        ...tool,
        async plan(input, place) {
          const planned = await tool.plan(input, place);
          return planned.kind === 'planned' ? { ...planned, bind: async () => refusal } : planned;
        },
      },
    ],
  });
  const { gateway, agent, workspace, approvals, journal } = house;
  const run = await gateway.startRun(agent, { workspace });
  const result = await run.call({ tool: 'test.echo', input: '{"text":"a"}' });
  expect(result).toMatchObject({ outcome: { kind: 'refused', code: 'sandbox.not_bindable' } });
  expect([runs, await approvals.pending({ limit: 10 })]).toEqual([0, []]);
  const { entries } = await journal.query({ call: result.call_id });
  expect(entries.map(({ kind }) => kind)).toEqual(['proposal', 'decision', 'outcome', 'attestation']);
});
