// T-41: whoever learned the id of another credential's run or call looks at it, undoes it or stops it.
import type { Caller } from '@palyra/gateway';
import { parseActor } from '@palyra/journal';
import type { CallId } from '@palyra/primitives';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { testTool } from '../integration/gateway-tools-for-tests.ts';

const INPUT = '{"text":"a"}';
let house: GatewayHouse & { readonly root: string };
let undone: string[] = [];

beforeEach(async () => {
  undone = [];
  const changes = {
    undo: async ({ runId }: { readonly runId: string }) => {
      undone.push(runId);
      return { kind: 'undone', calls: [] } as const;
    },
  };
  house = await openHouse({ tools: [testTool()], kept: { changes, fileTools: { undo: () => Promise.reject() } } });
});

afterEach(async () => {
  await house.close();
  removeHouse(house.root);
});

/** Of the same name, and of another one; a human without an office among them. */
const STRANGERS: readonly (readonly [string, (agent: Caller) => Caller])[] = [
  ['the same principal with another credential', (agent) => ({ ...agent, credential: 'another' })],
  ['another agent', (agent) => ({ ...agent, actor: parseActor('agent:other'), credential: 'another' })],
  [
    'an agent that says that it is an operator',
    (agent) => ({ ...agent, credential: 'another', channel: 'operator', groups: ['operators'] }),
  ],
  [
    'a human without an office',
    (agent) => ({
      ...agent,
      principal: { type: 'User', id: 'eve' },
      actor: parseActor('user:eve'),
      credential: 'eve-laptop',
    }),
  ],
];

test.each(STRANGERS)('%s finds, changes and stops nothing', async (_name, stranger) => {
  const { gateway, agent, workspace, journal } = house;
  const run = await gateway.startRun(agent, { workspace });
  const { call_id } = await run.call({ tool: 'test.echo', input: INPUT });
  const by = stranger(agent);
  const none = { code: 'gateway.run_not_found' };
  expect(await gateway.listRuns(by, { limit: 10 })).toEqual([]);
  expect(await gateway.listRuns(by, { limit: 10, principal: agent.actor })).toEqual([]);
  await expect(gateway.showRun(by, run.id)).rejects.toMatchObject(none);
  await expect(gateway.callOf(by, call_id)).rejects.toMatchObject({ code: 'gateway.call_not_found' });
  await expect(gateway.undo({ run: run.id, by })).rejects.toMatchObject(none);
  await expect(gateway.undo({ run: run.id, call: call_id as CallId, by })).rejects.toMatchObject(none);
  await expect(gateway.stop({ by })).rejects.toMatchObject({ code: 'gateway.not_authorized' });
  const named = await gateway.stop({ by, principal: agent.actor }).catch(() => ({ stopped: [] }));
  expect([named.stopped, undone]).toEqual([[], []]);
  expect((await run.call({ tool: 'test.echo', input: INPUT })).outcome.kind).toBe('completed');
  expect((await journal.query({ kinds: ['run.undo', 'run.ended'] })).entries).toEqual([]);
});

test('its owner, and an operator, do', async () => {
  const { gateway, agent, workspace } = house;
  const run = await gateway.startRun(agent, { workspace });
  const { call_id } = await run.call({ tool: 'test.echo', input: INPUT });
  const operator: Caller = {
    ...agent,
    principal: { type: 'User', id: 'ada' },
    groups: ['operator'],
    credential: 'ada',
  };
  for (const by of [agent, operator]) {
    expect((await gateway.callOf(by, call_id)).callId).toBe(call_id);
    await gateway.undo({ run: run.id, by });
  }
  expect(undone).toEqual([run.id, run.id]);
  expect(await gateway.stop({ by: agent, principal: agent.actor })).toMatchObject({ stopped: [run.id] });
});

test('an auditor looks, and changes and stops nothing', async () => {
  const { gateway, agent, workspace } = house;
  const run = await gateway.startRun(agent, { workspace });
  const by: Caller = {
    ...agent,
    principal: { type: 'User', id: 'max' },
    groups: ['auditor'],
    credential: 'max-laptop',
  };
  expect((await gateway.showRun(by, run.id)).run.id).toBe(run.id);
  await expect(gateway.undo({ run: run.id, by })).rejects.toMatchObject({ code: 'gateway.run_not_found' });
  await expect(gateway.stop({ by })).rejects.toMatchObject({ code: 'gateway.not_authorized' });
  expect(undone).toEqual([]);
});
