// T-01: some path leads to an executor without a decision: a cast, a copy, a replay, a nested call.
import type { CallEvent, ToolCallResult } from '@palyra/gateway';
import type { CallId } from '@palyra/primitives';
import { afterEach, expect, test } from 'vitest';
import { createExecute } from '../../packages/gateway/src/tool-call/execute.ts';
import type { PermittedCall } from '../../packages/gateway/src/tool-call/permitted-call.ts';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { testTool } from '../integration/gateway-tools-for-tests.ts';

let house: (GatewayHouse & { readonly root: string }) | undefined;

afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

const INPUT = '{"text":"a"}';

/** A tool that keeps what it was given, as a skill or a plugin could. */
function keepingTool() {
  const kept: PermittedCall[] = [];
  const tool = testTool();
  return {
    kept,
    tool: {
      ...tool,
      execute: (...args: Parameters<typeof tool.execute>) => {
        kept.push(args[0]);
        return tool.execute(...args);
      },
    },
  };
}

test('a call that ran does not run again, nor does a copy of it, whoever kept it', async () => {
  const { kept, tool } = keepingTool();
  house = await openHouse({ tools: [tool] });
  const run = await house.gateway.startRun(house.agent, { workspace: house.workspace });
  await run.call({ tool: 'test.echo', input: INPUT });
  const execute = createExecute({ clock: { now: Date.now, sleep: () => new Promise(() => undefined) } as never });
  const [used] = kept as [PermittedCall];
  for (const call of [used, { ...used }, Object.create(used) as PermittedCall]) {
    await expect(execute(call)).rejects.toMatchObject({ code: 'gateway.not_permitted' });
  }
  expect(kept).toHaveLength(1);
});

test('a nested call is decided, counted and attested like any other', async () => {
  const denied = testTool({ name: 'test.never', enforced: { neverPaths: ['/root/.ssh'] } });
  let parent: CallId | undefined;
  let nested: ToolCallResult | undefined;
  const nesting = testTool({
    async execute() {
      nested = await run.call({ tool: 'test.never', input: INPUT, ...(parent === undefined ? {} : { parent }) });
      return {};
    },
  });
  house = await openHouse({ tools: [nesting, denied] });
  const run = await house.gateway.startRun(house.agent, { workspace: house.workspace });
  const onEvent = (event: CallEvent) => {
    if (event.kind === 'accepted') parent = event.callId;
  };
  await run.call({ tool: 'test.echo', input: INPUT, onEvent });
  expect(nested).toMatchObject({ decision: { kind: 'deny' }, outcome: { kind: 'refused' } });
  const { entries } = await house.journal.query({ call: nested?.call_id ?? '', kinds: ['proposal'] });
  expect(entries[0]?.data).toMatchObject({ parent_call_id: parent });
});

test('a message that is sent again is answered again, also at the same time, and runs once', async () => {
  let runs = 0;
  const tool = testTool({ execute: async () => ({ runs: runs++ }) });
  house = await openHouse({ tools: [tool] });
  const run = await house.gateway.startRun(house.agent, { workspace: house.workspace });
  const again = () => run.call({ tool: 'test.echo', input: INPUT, key: 'k' });
  const all = [...(await Promise.all([again(), again(), again()])), await again()];
  expect([runs, new Set(all.map(({ call_id }) => call_id)).size]).toEqual([1, 1]);
});
