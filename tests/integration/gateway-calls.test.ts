import { DEFAULT_TOOL_CALL_CONFIG, type Tool } from '@palyra/gateway';
import type { ApprovalId } from '@palyra/primitives';
import { decideAsShown } from '@palyra/testkit';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type GatewayHouse, type HouseOptions, openHouse, removeHouse } from './gateway-house.ts';
import { LEAVES_THE_BOX, testTool } from './gateway-tools-for-tests.ts';

let house: (GatewayHouse & { readonly root: string }) | undefined;

afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

async function open(tools: readonly Tool[], options: Omit<HouseOptions, 'tools'> = {}) {
  house = await openHouse({ tools, ...options });
  const run = await house.gateway.startRun(house.agent, { workspace: house.workspace });
  return { ...house, run };
}

const text = (value: string) => JSON.stringify({ text: value });

async function entriesOf({ journal }: GatewayHouse, call: string) {
  const { entries } = await journal.query({ call });
  return entries.map(({ kind }) => kind);
}

describe('a call that is allowed', () => {
  test('is recorded, runs, and is attested', async () => {
    const { run, ...rest } = await open([testTool()]);
    const result = await run.call({ tool: 'test.echo', input: text('hello') });
    expect(result).toMatchObject({
      tool: 'test.echo',
      decision: { kind: 'allow' },
      outcome: { kind: 'completed', output: { text: 'hello' } },
      attestation: { executor: 'built_in', coverage: 'wrapped' },
    });
    expect(await entriesOf(rest, result.call_id)).toEqual(['proposal', 'decision', 'intent', 'outcome', 'attestation']);
    expect(await rest.verdict()).toBe('sound');
  });

  test('with a key is answered again, and does not run again', async () => {
    let runs = 0;
    const tool = testTool({ execute: async () => ({ runs: runs++ }) });
    const { run } = await open([tool]);
    const first = await run.call({ tool: 'test.echo', input: text('a'), key: 'k' });
    const again = await run.call({ tool: 'test.echo', input: text('a'), key: 'k' });
    expect([runs, again]).toEqual([1, first]);
    await expect(run.call({ tool: 'test.echo', input: text('b'), key: 'k' })).rejects.toMatchObject({
      code: 'gateway.key_reused',
    });
  });

  test('at the same time with the same key is one call', async () => {
    let runs = 0;
    const tool = testTool({ execute: async () => ({ runs: runs++ }) });
    const { run } = await open([tool]);
    const call = { tool: 'test.echo', input: text('a'), key: 'k' };
    const [one, other] = await Promise.all([run.call(call), run.call(call)]);
    expect([runs, other]).toEqual([1, one]);
  });
});

describe('a call that is refused', () => {
  test.each([
    ['an unknown tool', 'no.such', text('a'), 'gateway.unknown_tool'],
    ['input that is no JSON', 'test.echo', '{', 'gateway.invalid_input'],
    ['a key twice', 'test.echo', '{"text":"a","text":"b"}', 'gateway.invalid_input'],
    ['a field that is not known', 'test.echo', '{"text":"a","x":1}', 'gateway.invalid_input'],
    ['a field that is missing', 'test.echo', '{}', 'gateway.invalid_input'],
  ])('for %s is attested as not executed', async (_name, tool, input, code) => {
    const { run, ...rest } = await open([testTool()]);
    const result = await run.call({ tool, input });
    expect(result).toMatchObject({
      decision: { kind: 'deny', reason_code: code },
      outcome: { kind: 'refused', code },
      attestation: { executor: 'none', sandbox_enforcement: 'not_executed' },
    });
    expect(await entriesOf(rest, result.call_id)).toEqual(['proposal', 'decision', 'outcome', 'attestation']);
    expect(await rest.verdict()).toBe('sound');
  });

  test('by policy names the policy', async () => {
    const { run } = await open([testTool({ enforced: { neverPaths: ['/root/.ssh'] } })]);
    const result = await run.call({ tool: 'test.echo', input: text('a') });
    expect(result).toMatchObject({
      decision: { kind: 'deny', reason_code: 'forbidden' },
      outcome: { kind: 'refused', code: 'policy.forbidden' },
    });
  });

  test('does not count, and what was run does', async () => {
    const config = { ...DEFAULT_TOOL_CALL_CONFIG, maxCallsPerRun: 2 };
    const { run, root, agent } = await open([testTool()], { config });
    await run.call({ tool: 'no.such', input: text('a') });
    const call = () => run.call({ tool: 'test.echo', input: text('a') });
    const all = await Promise.all([call(), call(), call()]);
    expect(all.map(({ outcome }) => outcome.code ?? outcome.kind).toSorted()).toEqual([
      'completed',
      'completed',
      'gateway.budget_exhausted',
    ]);
    // The second refusal was as many as there may be calls.
    await expect(call()).rejects.toMatchObject({ code: 'gateway.run_ended' });
    expect([root, agent.credential]).toBeDefined();
  });
});

describe('a call that is asked about', () => {
  const leaving = () => testTool({ enforced: LEAVES_THE_BOX });

  async function whenAsked({ approvals }: GatewayHouse): Promise<ApprovalId> {
    for (;;) {
      const [card] = await approvals.pending({ limit: 1 });
      if (card !== undefined) return card.approvalId;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  test('runs once it is approved, and the approval is in its attestation', async () => {
    const { run, ...rest } = await open([leaving()]);
    const running = run.call({ tool: 'test.echo', input: text('a') });
    const id = await whenAsked(rest);
    const decided = await decideAsShown(rest.approvals, id, { decision: 'approve', scope: 'once', by: rest.ada });
    expect(decided.kind).toBe('decided');
    const result = await running;
    expect(result).toMatchObject({
      decision: { kind: 'allow' },
      approval: { id, outcome: 'approved', scope: 'once', decided_by: 'user:ada', assurance: 'same_host_key' },
      outcome: { kind: 'completed' },
    });
    expect(await entriesOf(rest, result.call_id)).toEqual([
      'proposal',
      'decision',
      'decision',
      'intent',
      'outcome',
      'attestation',
    ]);
    expect(await rest.verdict()).toBe('sound');
  });

  test('is refused with the reason of the human who denies it', async () => {
    const { run, ...rest } = await open([leaving()]);
    const running = run.call({ tool: 'test.echo', input: text('a') });
    const id = await whenAsked(rest);
    await decideAsShown(rest.approvals, id, { decision: 'deny', reason: 'Not there.', by: rest.ada });
    expect(await running).toMatchObject({
      decision: { kind: 'ask' },
      outcome: { kind: 'refused', code: 'gateway.approval_denied', message: 'A human refused. Not there.' },
    });
    expect(await rest.verdict()).toBe('sound');
  });

  test('is parked, and resumed with the same key', async () => {
    const { run, ...rest } = await open([leaving()], { unattended: 'park' });
    const call = () => run.call({ tool: 'test.echo', input: text('a'), key: 'k' });
    expect(await call()).toMatchObject({ outcome: { kind: 'refused', code: 'gateway.approval_pending' } });
    const id = await whenAsked(rest);
    await decideAsShown(rest.approvals, id, { decision: 'approve', scope: 'once', by: rest.ada });
    expect(await call()).toMatchObject({ outcome: { kind: 'completed' } });
    expect(await call()).toMatchObject({ outcome: { kind: 'completed' } });
    expect(await rest.verdict()).toBe('sound');
  });

  test('is cancelled with its run', async () => {
    const { run, ...rest } = await open([leaving()]);
    const running = run.call({ tool: 'test.echo', input: text('a') });
    await whenAsked(rest);
    await run.cancel();
    expect((await running).outcome.kind).toBe('refused');
    expect(await rest.approvals.pending({ limit: 10 })).toEqual([]);
  });
});

test('calls that are not safe beside one another wait for one another', async () => {
  const log: string[] = [];
  const tool = testTool({
    isParallel: false,
    async execute(input) {
      const name = input['text'] as string;
      log.push(`begin ${name}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
      log.push(`end ${name}`);
      return {};
    },
  });
  const { run } = await open([tool]);
  await Promise.all(['a', 'b'].map((name) => run.call({ tool: 'test.echo', input: text(name) })));
  expect(log[1]).toBe(log[0]?.replace('begin', 'end'));
});

test('a tool that throws has an outcome that is not known, and says so', async () => {
  const { run, ...rest } = await open([testTool({ execute: () => Promise.reject(new Error('boom /root/secret')) })]);
  const result = await run.call({ tool: 'test.echo', input: text('a') });
  expect(result.outcome).toEqual({
    kind: 'unknown_outcome',
    code: 'gateway.tool_fault',
    message: 'The tool failed in a way that it should not; what it did until then is done.',
  });
  expect(await rest.verdict()).toBe('sound');
});

test('a run goes on after a restart, with what it has used of its budget', async () => {
  const config = { ...DEFAULT_TOOL_CALL_CONFIG, maxCallsPerRun: 2 };
  const first = await open([testTool()], { config });
  await first.run.call({ tool: 'test.echo', input: text('a'), key: 'k' });
  first.approvals.close();
  const { root, agent } = first;
  const second = await openHouse({ tools: [testTool()], config, root });
  try {
    const run = await second.gateway.resumeRun(agent, first.run.id);
    expect(await run.call({ tool: 'test.echo', input: text('a'), key: 'k' })).toMatchObject({
      outcome: { kind: 'completed' },
    });
    expect(await run.call({ tool: 'test.echo', input: text('b') })).toMatchObject({ outcome: { kind: 'completed' } });
    expect(await run.call({ tool: 'test.echo', input: text('c') })).toMatchObject({
      outcome: { code: 'gateway.budget_exhausted' },
    });
    await expect(second.gateway.resumeRun({ ...agent, credential: 'other' }, first.run.id)).rejects.toMatchObject({
      code: 'gateway.run_not_found',
    });
  } finally {
    await second.close();
  }
});

test.each(['accepted', 'decided', 'approval_requested', 'approval_decided', 'started'])(
  'goes on when whoever listens is gone at "%s"',
  async (at) => {
    const { run, ...rest } = await open([testTool({ enforced: LEAVES_THE_BOX })]);
    const gone = (event: { readonly kind: string }) => {
      if (event.kind === at) throw new Error('gone');
    };
    const running = run.call({ tool: 'test.echo', input: text('a'), onEvent: gone });
    const [card] = await vi.waitFor(async () => {
      const cards = await rest.approvals.pending({ limit: 1 });
      expect(cards).toHaveLength(1);
      return cards;
    });
    await decideAsShown(rest.approvals, card?.approvalId as ApprovalId, {
      decision: 'approve',
      scope: 'once',
      by: rest.ada,
    });
    expect((await running).outcome.kind).toBe('completed');
  },
);

test('an operator who switches processes off has switched them off', async () => {
  const tool = testTool();
  const runs = { ...tool, metadata: { ...tool.metadata, capabilities: ['process_exec'] as const } };
  const { processRunner, ...config } = DEFAULT_TOOL_CALL_CONFIG;
  const { run } = await open([runs], { config: { ...config, processRunner: { ...processRunner, enabled: false } } });
  const { outcome } = await run.call({ tool: 'test.echo', input: text('a') });
  expect(outcome).toMatchObject({ kind: 'refused', code: 'gateway.tool_not_allowed' });
});

test('the same key in two daemons at once is one execution, and both calls are attested', async () => {
  let runs = 0;
  const tool = testTool({ execute: async () => ({ runs: runs++ }) });
  const { run, ...one } = await open([tool]);
  const other = await openHouse({ tools: [tool], root: one.root });
  try {
    const again = await other.gateway.resumeRun(other.agent, run.id);
    const call = { tool: 'test.echo', input: text('a'), key: 'k' };
    const results = await Promise.allSettled([run.call(call), again.call(call)]);
    const kinds = results.map((each) => (each.status === 'fulfilled' ? each.value.outcome.kind : each.reason.code));
    expect([runs, kinds.includes('completed')]).toEqual([1, true]);
    const { entries } = await one.journal.query({ kinds: ['proposal', 'attestation'] });
    const count = (wanted: string) => entries.filter(({ kind }) => kind === wanted).length;
    expect(count('attestation')).toBe(count('proposal'));
  } finally {
    await other.close();
  }
});

test('a tool that is not there is refused again under the same key', async () => {
  const { run } = await open([testTool()]);
  const call = { tool: 'no.such', input: text('a'), key: 'k' };
  const first = await run.call(call);
  expect(await run.call(call)).toEqual(first);
});
