// T-01: a call that a running call makes goes around the gate, waits for ever for its own parent, or outlives it.
import { DEFAULT_TOOL_CALL_CONFIG, type Run, type ToolCallResult } from '@palyra/gateway';
import type { CallId, JsonObject } from '@palyra/primitives';
import { afterEach, expect, test } from 'vitest';
import { type GatewayHouse, type HouseOptions, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { testTool } from '../integration/gateway-tools-for-tests.ts';

let house: (GatewayHouse & { readonly root: string }) | undefined;

afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

const INPUT = '{"text":"a"}';

interface Nesting extends Pick<HouseOptions, 'config'> {
  readonly outer?: boolean;
  readonly inner?: boolean;
  /** What the outer tool does with the run that it is part of. */
  nested(run: Run, parent: CallId): Promise<ToolCallResult>;
  executeInner?(input: JsonObject, signal: AbortSignal): Promise<JsonObject>;
}

/** A tool that makes a call while it runs, as a skill does. */
async function nest({ outer = false, inner = true, nested, executeInner, ...options }: Nesting) {
  let run: Run | undefined;
  let parent: CallId | undefined;
  const [one, other] = [
    testTool({
      name: 'test.outer',
      isParallel: outer,
      execute: async () => ({ outcome: (await nested(run as Run, parent as CallId)).outcome as unknown as JsonObject }),
    }),
    testTool({
      name: 'test.inner',
      isParallel: inner,
      ...(executeInner === undefined ? {} : { execute: executeInner }),
    }),
  ];
  house = await openHouse({ tools: [one, other], ...options });
  run = await house.gateway.startRun(house.agent, { workspace: house.workspace });
  const onEvent = (event: { readonly kind: string; readonly callId?: CallId }) => {
    if (event.kind === 'accepted') parent = event.callId;
  };
  return { run, result: await run.call({ tool: 'test.outer', input: INPUT, onEvent }) };
}

test.each([
  [{ outer: true, inner: true }, 'completed'],
  [{ outer: false, inner: true }, 'completed'],
  [{ outer: false, inner: false }, 'completed'],
  // Others may run beside the outer one, and the inner one runs beside nobody.
  [{ outer: true, inner: false }, 'refused'],
])('with tools that are parallel as %j it is %s, and never waits for its parent', async (parallel, kind) => {
  const { result } = await nest({
    ...parallel,
    nested: (run, parent) => run.call({ tool: 'test.inner', input: INPUT, parent }),
  });
  expect(result.outcome).toMatchObject({ kind: 'completed', output: { outcome: { kind } } });
  expect(await house?.verdict()).toBe('sound');
});

test('a parent that the run never had is not attested, and nothing runs in its name', async () => {
  const { run } = await nest({ nested: (own) => own.call({ tool: 'no.such', input: INPUT }) });
  for (const parent of ['whatever I like', '01ARZ3NDEKTSV4RRFFQ69G5FAV'] as CallId[]) {
    const result = await run.call({ tool: 'test.inner', input: INPUT, parent });
    expect(result.outcome).toMatchObject({ kind: 'refused', code: 'gateway.unknown_parent' });
    const proposals = await house?.journal.query({ call: result.call_id, kinds: ['proposal'] });
    expect(proposals?.entries[0]?.data).not.toHaveProperty('parent_call_id');
  }
});

test('it ends when its parent is over', async () => {
  let left: Promise<ToolCallResult> | undefined;
  await nest({
    nested: async (run, parent) => {
      left = run.call({ tool: 'test.inner', input: INPUT, parent });
      return run.call({ tool: 'no.such', input: INPUT, parent });
    },
    executeInner: (_, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('ended')))),
  });
  expect((await left)?.outcome.kind).toMatch(/^(?:unknown_outcome|refused)$/);
});

test('the refusal that ends the run does not wait for its own parent', async () => {
  const { run, result } = await nest({
    config: { ...DEFAULT_TOOL_CALL_CONFIG, maxCallsPerRun: 1 },
    nested: (own, parent) => own.call({ tool: 'no.such', input: INPUT, parent }),
  });
  expect(result.outcome).toMatchObject({ kind: 'completed', output: { outcome: { kind: 'refused' } } });
  await expect(run.call({ tool: 'test.inner', input: INPUT })).rejects.toMatchObject({ code: 'gateway.run_ended' });
  await run.end();
});
