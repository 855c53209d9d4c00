import type { Caller } from '@palyra/gateway';
import { parseActor } from '@palyra/journal';
import type { ApprovalId, JsonObject } from '@palyra/primitives';
import { decideAsShown } from '@palyra/testkit';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type GatewayHouse, type HouseOptions, openHouse, removeHouse } from './gateway-house.ts';
import { LEAVES_THE_BOX, testTool } from './gateway-tools-for-tests.ts';

const PATIENT = { timeout: 20_000 };
const INPUT = '{"text":"a"}';

const OPERATOR: Caller = {
  principal: { type: 'User', id: 'ada' },
  actor: parseActor('user:ada'),
  groups: ['operator'],
  credential: 'ada-laptop',
  coverage: 'direct',
  separation: 'personal',
};

/** Until it is cancelled. */
const hold = (_input: unknown, signal: AbortSignal) =>
  new Promise<JsonObject>((resolve) => {
    // Stopped between its intent and its first step: then nobody tells it any more.
    if (signal.aborted) resolve({});
    signal.addEventListener('abort', () => resolve({}), { once: true });
  });

const TOOLS = [
  testTool(),
  testTool({ name: 'test.asks', enforced: LEAVES_THE_BOX }),
  testTool({ name: 'test.never', enforced: { neverPaths: ['/root/.ssh'] } }),
  testTool({ name: 'test.holds', execute: hold }),
  testTool({ name: 'test.asks_and_holds', enforced: LEAVES_THE_BOX, execute: hold }),
];

let house: (GatewayHouse & { readonly root: string }) | undefined;

afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

async function open(options: Partial<HouseOptions> = {}) {
  house = await openHouse({ tools: TOOLS, ...options });
  return house;
}

function asked({ approvals }: Pick<GatewayHouse, 'approvals'>, count: number) {
  return vi.waitFor(async () => {
    const cards = await approvals.pending({ limit: 9 });
    expect(cards).toHaveLength(count);
    return cards;
  }, PATIENT);
}

describe('runs are listed', () => {
  test('newest first, page by page, by principal and state', async () => {
    const { gateway, agent, workspace } = await open();
    const other: Caller = { ...agent, actor: parseActor('agent:other'), credential: 'other' };
    const ids: string[] = [];
    for (const caller of [agent, agent, other]) ids.unshift((await gateway.startRun(caller, { workspace })).id);
    await (await gateway.resumeRun(other, ids[0] as never)).end();
    const list = async (query: Partial<Parameters<typeof gateway.listRuns>[1]>) =>
      (await gateway.listRuns(OPERATOR, { limit: 10, ...query })).map(({ id }) => id);
    expect(await list({})).toEqual(ids);
    const [first, second] = [await list({ limit: 2 }), await list({ limit: 2, before: ids[1] as string })];
    expect([...first, ...second]).toEqual(ids);
    expect(await list({ principal: 'agent:other' })).toEqual(ids.slice(0, 1));
    expect([await list({ state: 'open' }), await list({ state: 'ended' })]).toEqual([ids.slice(1), ids.slice(0, 1)]);
  });

  test('with how they were opened and what they used', async () => {
    const { gateway, agent, workspace } = await open();
    const run = await gateway.startRun({ ...agent, channel: 'cli' }, { workspace });
    await run.call({ tool: 'test.echo', input: INPUT });
    await run.call({ tool: 'test.never', input: INPUT });
    expect(await gateway.listRuns(agent, { limit: 1 })).toEqual([
      {
        id: run.id,
        session: run.session,
        principal: 'agent:coder',
        workspace: 'work',
        workspaceRoot: workspace.root,
        state: 'open',
        calls: 1,
        refused: 1,
        maxCalls: 2000,
        coverage: 'wrapped',
        separation: 'personal',
        deviceId: null,
        channel: 'cli',
        startedAt: expect.any(Number),
        endedAt: null,
      },
    ]);
  });
});

test('a run is shown with its calls, whatever became of them', async () => {
  const { gateway, agent, workspace, approvals } = await open();
  const run = await gateway.startRun(agent, { workspace });
  const done = await run.call({ tool: 'test.echo', input: INPUT });
  const never = await run.call({ tool: 'test.never', input: INPUT });
  const asking = run.call({ tool: 'test.asks', input: INPUT });
  await asked({ approvals }, 1);
  const holding = run.call({ tool: 'test.holds', input: INPUT });
  const shown = await vi.waitFor(async () => {
    const page = await gateway.showRun(OPERATOR, run.id);
    expect(page.calls.map(({ tool, state }) => [tool, state])).toEqual([
      ['test.holds', 'executing'],
      ['test.asks', 'waiting'],
      ['test.never', 'refused'],
      ['test.echo', 'completed'],
    ]);
    return page;
  }, PATIENT);
  expect(shown.calls.slice(2)).toMatchObject([
    { callId: never.call_id, decision: 'deny', policyIds: ['never'], code: 'policy.forbidden' },
    { callId: done.call_id, decision: 'allow', policyIds: ['workspace-read'], code: null },
  ]);
  const first = await gateway.showRun(agent, run.id, { limit: 3 });
  const next = await gateway.showRun(agent, run.id, { limit: 3, before: first.next as number });
  expect([...first.calls, ...next.calls]).toEqual(shown.calls);
  expect(next.next).toBeUndefined();
  await run.cancel();
  await Promise.all([asking, holding]);
});

test('who said yes or no shows of a call in its run, and of one that runs also on its page', async () => {
  const { gateway, agent, workspace, approvals, ada } = await open();
  const run = await gateway.startRun(agent, { workspace });
  const said = async (tool: string, decision: 'approve' | 'deny') => {
    const call = run.call({ tool, input: INPUT });
    const [card] = await asked({ approvals }, 1);
    const id = card?.approvalId as ApprovalId;
    await decideAsShown(approvals, id, { decision, scope: 'once', by: ada });
    return { id, call };
  };
  const [yes, no] = [await said('test.asks', 'approve'), await said('test.asks', 'deny')];
  await Promise.all([yes.call, no.call, run.call({ tool: 'test.echo', input: INPUT })]);
  const running = await said('test.asks_and_holds', 'approve');
  const by = { decidedBy: 'user:ada', scope: 'once', device: expect.any(String), assurance: expect.any(String) };
  const [first] = await vi.waitFor(async () => {
    const { calls } = await gateway.showRun(OPERATOR, run.id);
    expect(calls.map(({ state, decision, approval }) => ({ state, decision, approval }))).toEqual([
      { state: 'executing', decision: 'allow', approval: { ...by, id: running.id, outcome: 'approved' } },
      { state: 'completed', decision: 'allow', approval: null },
      { state: 'refused', decision: 'ask', approval: { ...by, id: no.id, outcome: 'denied' } },
      { state: 'completed', decision: 'allow', approval: { ...by, id: yes.id, outcome: 'approved' } },
    ]);
    return calls;
  }, PATIENT);
  const page = await gateway.callOf(OPERATOR, first?.callId ?? '');
  expect(page).toMatchObject({ approval: { id: running.id, outcome: 'approved', decidedBy: 'user:ada' } });
  await run.cancel();
  await running.call;
});

describe('one page about one call', () => {
  test('that was approved has everything from the question to the attestation', async () => {
    const { gateway, agent, workspace, approvals, ada, policy } = await open();
    const run = await gateway.startRun(agent, { workspace });
    const running = run.call({ tool: 'test.asks', input: INPUT });
    const [card] = await asked(house as GatewayHouse, 1);
    const id = card?.approvalId as ApprovalId;
    const [line] = (await gateway.showRun(agent, run.id)).calls;
    const waiting = await gateway.callOf(agent, line?.callId ?? '');
    expect(waiting).toMatchObject({ approval: { id, outcome: 'pending' }, intent: null, outcome: null });
    expect(waiting.attestation).toBe(null);
    await decideAsShown(approvals, id, { decision: 'approve', scope: 'once', by: ada });
    const result = await running;
    const page = await gateway.callOf(OPERATOR, result.call_id);
    expect(page).toMatchObject({
      callId: result.call_id,
      run: { id: run.id, principal: 'agent:coder' },
      tool: 'test.asks',
      input: { kind: 'kept', text: INPUT, bytes: INPUT.length },
      decisions: [{ kind: 'ask' }, { kind: 'allow', policySet: policy.current().digest }],
      approval: { id, outcome: 'approved', decidedBy: 'user:ada', scope: 'once', bound: [], notBound: [] },
      intent: { executor: 'built_in', plan: { kind: 'kept', text: INPUT } },
      outcome: { kind: 'completed', code: null, output: { kind: 'kept' } },
      attestation: {
        id: result.attestation.attestation_id,
        seq: result.attestation.journal_seq,
        statement: { call_id: result.call_id, outcome: { kind: 'completed' }, executor: 'built_in' },
      },
    });
    expect(page.approval?.prompt).toEqual(card?.prompt);
    const [policyOf] = page.decisions.at(-1)?.policies ?? [];
    expect(policyOf).toMatchObject({ id: 'leave-the-box', text: expect.stringContaining('context.approved') });
  });

  test('says what was erased', async () => {
    const { gateway, agent, workspace, journal } = await open();
    const run = await gateway.startRun(agent, { workspace });
    const { call_id } = await run.call({ tool: 'test.echo', input: INPUT });
    const { entries } = await journal.query({ call: call_id, kinds: ['proposal'] });
    const [proposal] = entries;
    if (proposal?.kind !== 'proposal') throw new Error('There is no proposal.');
    await journal.erase(OPERATOR.actor, proposal.data.input, 'operator');
    expect((await gateway.callOf(OPERATOR, call_id)).input).toEqual({ kind: 'erased' });
  });
});

describe('stopping', () => {
  test('ends what runs and what is asked of one principal, with the name of who did it', async () => {
    const { gateway, agent, workspace, journal } = await open();
    const other: Caller = { ...agent, actor: parseActor('agent:other'), credential: 'other' };
    const [mine, theirs] = [await gateway.startRun(agent, { workspace }), await gateway.startRun(other, { workspace })];
    const asking = mine.call({ tool: 'test.asks', input: INPUT });
    await asked(house as GatewayHouse, 1);
    const holding = mine.call({ tool: 'test.holds', input: INPUT });
    expect(await gateway.stop({ by: OPERATOR, principal: 'agent:coder' })).toEqual({ stopped: [mine.id], failed: [] });
    expect((await asking).outcome.code).toBe('gateway.cancelled');
    await holding;
    await asked(house as GatewayHouse, 0);
    await expect(mine.call({ tool: 'test.echo', input: INPUT })).rejects.toMatchObject({ code: 'gateway.run_ended' });
    expect((await theirs.call({ tool: 'test.echo', input: INPUT })).outcome.kind).toBe('completed');
    const { entries } = await journal.query({ kinds: ['runs.stopped', 'run.ended'] });
    expect(entries).toMatchObject([
      { kind: 'runs.stopped', actor: 'user:ada', data: { principal: 'agent:coder', runs: 1 } },
      { kind: 'run.ended', actor: 'user:ada', data: { run_id: mine.id, reason: 'stopped', principal: 'agent:coder' } },
    ]);
    expect(await house?.verdict()).toBe('sound');
  });

  test('of everybody reaches runs that nobody came back to since a restart', async () => {
    const { root, agent, workspace, ...first } = await open();
    const run = await first.gateway.startRun(agent, { workspace });
    const second = await openHouse({ tools: TOOLS, root });
    try {
      expect(await second.gateway.stop({ by: OPERATOR })).toEqual({ stopped: [run.id], failed: [] });
      await expect(second.gateway.resumeRun(agent, run.id)).rejects.toMatchObject({ code: 'gateway.run_ended' });
    } finally {
      await second.close();
    }
  });

  test('on one node stops what runs on another', async () => {
    const { root, agent, workspace, ...first } = await open();
    const run = await first.gateway.startRun(agent, { workspace });
    const holding = run.call({ tool: 'test.holds', input: INPUT });
    await vi.waitFor(async () => {
      const [line] = (await first.gateway.showRun(agent, run.id)).calls;
      expect(line?.state).toBe('executing');
    }, PATIENT);
    const second = await openHouse({ tools: TOOLS, root });
    try {
      await second.gateway.stop({ by: OPERATOR });
      // It ends because its signal does: the tool waits for nothing else.
      await holding;
      await expect(run.call({ tool: 'test.echo', input: INPUT })).rejects.toMatchObject({ code: 'gateway.run_ended' });
    } finally {
      await second.close();
    }
  });
});

describe('a call that is parked', () => {
  const park = (key = 'k') => ({ tool: 'test.asks', input: INPUT, key });

  test('is no refusal however often it is looked after, and leaves one record', async () => {
    const { gateway, agent, workspace, journal, approvals, ada } = await open({ unattended: 'park' });
    const run = await gateway.startRun(agent, { workspace });
    const first = await run.call(park());
    expect(first).toMatchObject({ outcome: { code: 'gateway.approval_pending' }, approval: { outcome: 'pending' } });
    for (const _ of [1, 2, 3]) expect(await run.call(park())).toEqual(first);
    const { entries } = await journal.query({ run: run.id, kinds: ['proposal'] });
    const [{ refused } = { refused: -1 }] = await gateway.listRuns(agent, { limit: 1 });
    expect([entries.length, refused]).toEqual([1, 0]);
    await expect(run.call({ ...park(), input: '{"text":"b"}' })).rejects.toMatchObject({ code: 'gateway.key_reused' });
    await decideAsShown(approvals, first.approval?.id as ApprovalId, { decision: 'approve', scope: 'once', by: ada });
    expect((await run.call(park())).outcome.kind).toBe('completed');
    expect(await house?.verdict()).toBe('sound');
  });

  test('is told the answer when there is one', async () => {
    const { gateway, agent, workspace, approvals, ada } = await open({ unattended: 'park' });
    const run = await gateway.startRun(agent, { workspace });
    const { approval } = await run.call(park());
    await decideAsShown(approvals, approval?.id as ApprovalId, { decision: 'deny', by: ada });
    expect((await run.call(park())).outcome.code).toBe('gateway.approval_denied');
  });

  test('without a key is over, and counts', async () => {
    const { gateway, agent, workspace } = await open({ unattended: 'park' });
    const run = await gateway.startRun(agent, { workspace });
    await run.call({ tool: 'test.asks', input: INPUT });
    expect(await gateway.listRuns(agent, { limit: 1 })).toMatchObject([{ refused: 1 }]);
  });
});
