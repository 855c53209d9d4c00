// T-32, T-05: a call that changes nothing is recorded once, with its end: its result is told without that record, it is
// counted though nothing is on record, an approval is used by it that was not used up, or it leaves half of a record.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_TOOL_CALL_CONFIG, type Tool } from '@palyra/gateway';
import { type Journal, JournalError } from '@palyra/journal';
import { afterEach, expect, test, vi } from 'vitest';
import { watchCalls } from '../../apps/daemon/src/watch-calls.ts';
import { type GatewayHouse, type HouseOptions, openHouse } from '../integration/gateway-house.ts';
import { LEAVES_THE_BOX, testTool } from '../integration/gateway-tools-for-tests.ts';

const houses: (GatewayHouse & { readonly root: string })[] = [];

afterEach(async () => {
  for (const house of houses.splice(0).toReversed()) {
    await house.close();
    rmSync(house.root, { recursive: true, force: true });
  }
});

async function open(options: Omit<HouseOptions, 'tools'> & { readonly tools: readonly Tool[] }) {
  const house = await openHouse(options);
  houses.push(house);
  const run = await house.gateway.startRun(house.agent, { workspace: house.workspace });
  return { ...house, run };
}

type Execute = NonNullable<Parameters<typeof testTool>[0]>['execute'];

function readingTool(execute?: Execute, enforced = {}): Tool {
  return { ...testTool({ enforced, ...(execute === undefined ? {} : { execute }) }), changesNothing: true };
}

const CALL = { tool: 'test.echo', input: '{"text":"a"}' };

async function kindsOf(journal: Journal, call?: string): Promise<readonly string[]> {
  const { entries } = await journal.query({ limit: 1000, ...(call === undefined ? {} : { call }) });
  return entries.flatMap(({ kind, data }) => ('call_id' in data ? [kind] : []));
}

const WHOLE = ['proposal', 'decision', 'intent', 'outcome', 'attestation'];

test('nothing of it is on record while it runs, and everything before it is told', async () => {
  const during: string[][] = [];
  const events: string[] = [];
  const { journal, run, verdict } = await open({
    tools: [
      readingTool(async () => {
        during.push([...(await kindsOf(journal)), ...events]);
        return { said: 'it' };
      }),
    ],
  });
  const onEvent = ({ kind }: { readonly kind: string }) => void events.push(kind);
  const result = await run.call({ ...CALL, onEvent });
  expect(during).toEqual([['accepted']]);
  expect(result).toMatchObject({ outcome: { kind: 'completed', output: { said: 'it' } } });
  expect(events).toEqual(['accepted', 'decided', 'started']);
  expect(await kindsOf(journal, result.call_id)).toEqual(WHOLE);
  expect(await verdict()).toBe('sound');
});

test('it can say nothing before it is on record, and reach nobody', async () => {
  const given: string[] = [];
  const tool = readingTool();
  const { run } = await open({
    tools: [
      {
        ...tool,
        async execute(call, context) {
          given.push(...Object.keys(context));
          await context.onOutput?.('stdout', Buffer.from('it'));
          return tool.execute(call, context);
        },
      },
    ],
  });
  const heard: string[] = [];
  const onOutput = (_stream: string, bytes: Uint8Array) => void heard.push(Buffer.from(bytes).toString());
  expect((await run.call({ ...CALL, onOutput })).outcome.kind).toBe('completed');
  expect([given, heard]).toEqual([['signal'], []]);
});

test('what it read is not told when the record fails, and it does not count', async () => {
  let runs = 0;
  let isBroken = true;
  const events: string[] = [];
  const { journal, run, verdict } = await open({
    tools: [readingTool(async () => ({ runs: ++runs }))],
    config: { ...DEFAULT_TOOL_CALL_CONFIG, maxCallsPerRun: 1 },
    around: (real) => ({
      ...real,
      async attest(actor, call) {
        if (isBroken) throw new JournalError('journal.not_recorded', 'The disk is full.');
        return real.attest(actor, call);
      },
    }),
  });
  const onEvent = ({ kind }: { readonly kind: string }) => void events.push(kind);
  await expect(run.call({ ...CALL, key: 'k', onEvent })).rejects.toMatchObject({ code: 'journal.not_recorded' });
  expect([runs, events, await kindsOf(journal)]).toEqual([1, ['accepted'], []]);

  isBroken = false;
  const again = await run.call({ ...CALL, key: 'k' });
  expect(again).toMatchObject({ outcome: { kind: 'completed', output: { runs: 2 } } });
  expect((await run.call(CALL)).outcome).toMatchObject({ code: 'gateway.budget_exhausted' });
  expect(await verdict()).toBe('sound');
});

test('one that asks is on record, and its approval is used up, before it runs', async () => {
  let before: readonly string[] = [];
  const { journal, approvals, ada, run, verdict } = await open({
    tools: [
      readingTool(async () => {
        before = await kindsOf(journal);
        return {};
      }, LEAVES_THE_BOX),
    ],
  });
  const running = run.call(CALL);
  const card = await vi.waitFor(async () => {
    const [first] = await approvals.pending({ limit: 1 });
    if (first === undefined) throw new Error('Nobody has been asked yet.');
    return first;
  });
  await approvals.decide(card.approvalId, { decision: 'approve', scope: 'once', shown: card.shown, by: ada });
  expect((await running).outcome.kind).toBe('completed');
  expect(before).toContain('intent');
  expect(await verdict()).toBe('sound');
});

test('the budget that another daemon used up meanwhile refuses it, and so it is attested', async () => {
  const config = { ...DEFAULT_TOOL_CALL_CONFIG, maxCallsPerRun: 1 };
  const gate = Promise.withResolvers<void>();
  const one = await open({ tools: [readingTool(async () => gate.promise.then(() => ({ secret: 'it' })))], config });
  const other = await openHouse({ tools: [readingTool()], config, root: one.root });
  houses.push(other);
  const waiting = one.run.call(CALL);
  const theirs = await other.gateway.resumeRun(other.agent, one.run.id);
  expect((await theirs.call(CALL)).outcome.kind).toBe('completed');
  gate.resolve();
  const refused = await waiting;
  expect(refused.outcome).toMatchObject({ kind: 'refused', code: 'gateway.budget_exhausted' });
  expect(JSON.stringify(refused)).not.toContain('secret');
  expect(await kindsOf(one.journal, refused.call_id)).toEqual(['proposal', 'decision', 'outcome', 'attestation']);
  expect(await one.verdict()).toBe('sound');
});

test('the same key in two daemons at once is on record as made once', async () => {
  const both = Promise.withResolvers<void>();
  let runs = 0;
  const tool = readingTool(async () => {
    runs += 1;
    if (runs === 2) both.resolve();
    await both.promise;
    return {};
  });
  const one = await open({ tools: [tool] });
  const other = await openHouse({ tools: [tool], root: one.root });
  houses.push(other);
  const theirs = await other.gateway.resumeRun(other.agent, one.run.id);
  const results = await Promise.all([one.run.call({ ...CALL, key: 'k' }), theirs.call({ ...CALL, key: 'k' })]);
  expect(results.map(({ outcome }) => outcome.code ?? outcome.kind).toSorted()).toEqual([
    'completed',
    'gateway.call_elsewhere',
  ]);
  expect(await one.run.call({ ...CALL, key: 'k' })).toMatchObject({ outcome: { kind: 'completed' } });
  const kinds = await kindsOf(one.journal);
  expect(kinds.filter((kind) => kind === 'attestation')).toHaveLength(2);
  expect(await one.verdict()).toBe('sound');
});

test('one that its tool refuses is recorded like any other', async () => {
  const refusal = { kind: 'refused', code: 'gateway.fault', message: 'There is no box.', fix: undefined } as const;
  const { journal, run, verdict } = await open({ tools: [{ ...readingTool(), execute: async () => refusal }] });
  const result = await run.call(CALL);
  expect(result.outcome).toMatchObject({ kind: 'refused', code: 'gateway.fault' });
  expect(await kindsOf(journal, result.call_id)).toEqual(WHOLE);
  expect(await verdict()).toBe('sound');
});

test('what came of one that is cancelled while it runs is on record', async () => {
  const stop = new AbortController();
  const { journal, run, verdict } = await open({
    tools: [
      readingTool(async () => {
        stop.abort();
        return {};
      }),
    ],
  });
  const result = await run.call({ ...CALL, signal: stop.signal });
  expect(await kindsOf(journal, result.call_id)).toEqual(WHOLE);
  expect(await verdict()).toBe('sound');
});

/** A human is asked, and meanwhile the policies come to allow it: nobody's approval is used up by it. */
async function allowedWhileAsked(options: Omit<HouseOptions, 'tools'> = {}) {
  const house = await open({ ...options, tools: [readingTool(undefined, LEAVES_THE_BOX)], ownPolicies: true });
  const events: string[] = [];
  const running = house.run.call({ ...CALL, onEvent: ({ kind }) => void events.push(kind) });
  await vi.waitFor(async () => expect(await house.approvals.pending({ limit: 1 })).toHaveLength(1), {
    timeout: 20_000,
  });
  const rule = 'permit (principal, action == Palyra::Action::"tool.execute", resource == Palyra::Tool::"test.echo");';
  mkdirSync(join(house.root, 'policies'), { recursive: true, mode: 0o700 });
  writeFileSync(join(house.root, 'policies', 'own.cedar'), `@id("mine") ${rule}\n`, { mode: 0o600 });
  await house.policy.apply();
  return { ...house, events, running };
}

test('one that is allowed while a human is asked is attested under what allowed it, and its decision told once', async () => {
  const { running, events, journal, verdict } = await allowedWhileAsked();
  const result = await running;
  expect(result).toMatchObject({
    decision: { kind: 'allow', policy_ids: ['mine'] },
    outcome: { kind: 'completed', output: { text: 'a' } },
  });
  expect(events).toEqual(['accepted', 'decided', 'approval_requested', 'approval_decided', 'started']);
  const kinds = await kindsOf(journal, result.call_id);
  expect(kinds.filter((kind) => !kind.startsWith('approval.'))).toEqual(['proposal', 'decision', ...WHOLE.slice(1)]);
  expect(await verdict()).toBe('sound');
});

test('one that is allowed while a human is asked, and does not hold, is refused once', async () => {
  let tries = 0;
  const { running, journal, verdict } = await allowedWhileAsked({
    around: (real) => ({
      ...real,
      async attest(actor, call) {
        if (!call.drafts.some(({ kind }) => kind === 'intent')) return real.attest(actor, call);
        tries += 1;
        if (tries > 3) throw new Error('It is tried again and again.');
        return { kind: 'conflict', step: 0 };
      },
    }),
  });
  const refused = await running;
  expect(refused.outcome).toMatchObject({ kind: 'refused', code: 'gateway.budget_exhausted' });
  expect(tries).toBe(1);
  const kinds = await kindsOf(journal, refused.call_id);
  expect(kinds.filter((kind) => kind === 'intent' || kind === 'attestation')).toEqual(['attestation']);
  expect(await verdict()).toBe('sound');
});

test('a daemon that ends waits for one that runs, though nobody is told that it does', async () => {
  const runs = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const tool = readingTool(async () => {
    runs.resolve();
    await goOn.promise;
    return {};
  });
  const { gateway, agent, workspace } = await open({ tools: [tool] });
  const watched = watchCalls(gateway, []);
  const run = await watched.gateway.startRun(agent, { workspace });
  const events: string[] = [];
  const call = run.call({ ...CALL, onEvent: ({ kind }) => void events.push(kind) });
  await runs.promise;
  const { executing } = watched.calls;
  const before = [...events];
  goOn.resolve();
  await call;
  await watched.calls.idle();
  expect([executing, before, watched.calls.executing]).toEqual([1, ['accepted'], 0]);
});
