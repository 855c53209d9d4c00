// T-10: the budget is evaded by parallel or nested calls, by reconnecting, or by a restart of the daemon.
import { DEFAULT_TOOL_CALL_CONFIG, type Tool } from '@palyra/gateway';
import type { CallId } from '@palyra/primitives';
import { afterEach, expect, test, vi } from 'vitest';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { LEAVES_THE_BOX, testTool } from '../integration/gateway-tools-for-tests.ts';

const PATIENT = { timeout: 20_000 };
const INPUT = '{"text":"a"}';
const config = { ...DEFAULT_TOOL_CALL_CONFIG, maxCallsPerRun: 3 };

let opened: (GatewayHouse & { readonly root: string })[] = [];

afterEach(async () => {
  for (const house of opened) await house.close();
  for (const { root } of opened) removeHouse(root);
  opened = [];
});

async function open(root?: string, more: readonly Tool[] = []) {
  let runs = 0;
  const tool = testTool({ execute: async () => ({ runs: runs++ }) });
  const house = await openHouse({ tools: [tool, ...more], config, ...(root === undefined ? {} : { root }) });
  opened.push(house);
  return { ...house, runs: () => runs };
}

test('many calls at once, nested ones among them, share one budget', async () => {
  let parent: CallId | undefined;
  const nested = testTool({
    name: 'test.nest',
    async execute() {
      await Promise.allSettled(Array.from({ length: 5 }, () => call(parent)));
      return {};
    },
  });
  const house = await open(undefined, [nested]);
  const run = await house.gateway.startRun(house.agent, { workspace: house.workspace });
  const call = (from?: CallId) =>
    run.call({ tool: 'test.echo', input: INPUT, ...(from === undefined ? {} : { parent: from }) });
  const { call_id: over } = await call();
  expect(await call(over as CallId)).toMatchObject({ outcome: { code: 'gateway.unknown_parent' } });
  await run.call({
    tool: 'test.nest',
    input: INPUT,
    onEvent: (event) => {
      if (event.kind === 'accepted') parent = event.callId;
    },
  });
  expect(house.runs()).toBe(2);
});

test('two connections to the same run, and the same run in two daemons, share it too', async () => {
  const one = await open();
  const run = await one.gateway.startRun(one.agent, { workspace: one.workspace });
  const other = await open(one.root);
  const again = await other.gateway.resumeRun(other.agent, run.id);
  const calls = [run, again, run, again, run, again].map((each) => each.call({ tool: 'test.echo', input: INPUT }));
  await Promise.allSettled(calls);
  expect(one.runs() + other.runs()).toBe(3);
});

test('a restart gives nothing back', async () => {
  const one = await open();
  const run = await one.gateway.startRun(one.agent, { workspace: one.workspace });
  for (const _ of [1, 2]) await run.call({ tool: 'test.echo', input: INPUT });
  const other = await open(one.root);
  const again = await other.gateway.resumeRun(other.agent, run.id);
  for (const _ of [1, 2]) await again.call({ tool: 'test.echo', input: INPUT });
  expect([one.runs(), other.runs()]).toEqual([2, 1]);
});

test('calls that policy denies hold nothing of it', async () => {
  const denied = testTool({ name: 'test.never', enforced: { neverPaths: ['/root/.ssh'] } });
  const house = await openHouse({ tools: [testTool(), denied], config });
  opened.push(house);
  const run = await house.gateway.startRun(house.agent, { workspace: house.workspace });
  const call = async (tool: string) => (await run.call({ tool, input: INPUT })).outcome.kind;
  const kinds = [await call('test.never'), await call('test.never')];
  for (const _ of [1, 2, 3]) kinds.push(await call('test.echo'));
  expect(kinds).toEqual(['refused', 'refused', 'completed', 'completed', 'completed']);
});

test('calls that could not be recorded hold nothing of it either', async () => {
  let isFull = true;
  const house = await openHouse({
    tools: [testTool()],
    config,
    around: (journal) => ({
      ...journal,
      append: (...args) => (isFull ? Promise.reject(new Error('full')) : journal.append(...args)),
    }),
  });
  opened.push(house);
  isFull = false;
  const run = await house.gateway.startRun(house.agent, { workspace: house.workspace });
  const call = () => run.call({ tool: 'test.echo', input: INPUT });
  isFull = true;
  for (const _ of [1, 2, 3]) await expect(call()).rejects.toThrow('full');
  isFull = false;
  expect((await call()).outcome.kind).toBe('completed');
});

test('the refusal that ends a run is told at once, whoever still waits', async () => {
  const asking = testTool({ name: 'test.asks', enforced: LEAVES_THE_BOX });
  const house = await openHouse({ tools: [asking], config });
  opened.push(house);
  const run = await house.gateway.startRun(house.agent, { workspace: house.workspace });
  const waiting = run.call({ tool: 'test.asks', input: INPUT });
  await vi.waitFor(async () => expect(await house.approvals.pending({ limit: 1 })).toHaveLength(1), PATIENT);
  for (const _ of [1, 2, 3]) expect((await run.call({ tool: 'no.such', input: INPUT })).outcome.kind).toBe('refused');
  await expect(run.call({ tool: 'test.asks', input: INPUT })).rejects.toMatchObject({ code: 'gateway.run_ended' });
  // Nobody is left with a question of a run that is over, and nobody has to answer it before the run ends.
  expect((await waiting).outcome).toMatchObject({ kind: 'refused', code: 'gateway.too_many_refusals' });
  expect(await house.approvals.pending({ limit: 9 })).toEqual([]);
  await run.cancel();
  const { entries } = await house.journal.query({ kinds: ['run.ended'] });
  expect(entries).toMatchObject([{ data: { run_id: run.id, outcome: 'cancelled', reason: 'too_many_refusals' } }]);
});
