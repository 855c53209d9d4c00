import type { Caller, Run, Tool } from '@palyra/gateway';
import { parseActor } from '@palyra/journal';
import { createFakeClock, createFakeCredentials, decideAsShown, sharedPostgres } from '@palyra/testkit';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { MOST_CALLS } from './gateway-model.ts';
import {
  type Ground,
  type MortalHouse,
  openAnother,
  openGround,
  openMortalHouse,
  WORKSPACE,
} from './gateway-mortal-house.ts';
import { testTool } from './gateway-tools-for-tests.ts';

/** Two nodes with connections of their own share the database; everything else is as in gateway-calls.test.ts. */
let here: Ground;
let there: Ground;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await sharedPostgres().createDatabase();
  drop = database.drop;
  const location = { kind: 'postgres', url: database.url, poolSize: 4 } as const;
  here = await openGround(createFakeClock(), createFakeCredentials(), location);
  there = await openAnother(here);
});

afterAll(async () => {
  await there.close();
  await here.close();
  await drop();
});

const text = (value: string) => JSON.stringify({ text: value });
const callOf = (tool: string, key?: string) => ({ tool, input: text('a'), ...(key === undefined ? {} : { key }) });

function agentOf(name: string): Caller {
  return {
    principal: { type: 'Agent', id: name },
    actor: parseActor(`agent:${name}`),
    groups: [],
    credential: `token of ${name}`,
    coverage: 'wrapped',
    separation: 'personal',
  };
}

function nodeAt(ground: Ground, owner: string, tools: readonly Tool[]): Promise<MortalHouse> {
  return openMortalHouse(ground, { tools, owner, policy: () => 'plain' });
}

/** The same run on both nodes. */
async function onBoth(name: string, tools: readonly Tool[]) {
  const one = await nodeAt(here, `${name} one`, tools);
  const other = await nodeAt(there, `${name} other`, tools);
  const agent = agentOf(name);
  const run = await one.gateway.startRun(agent, { workspace: WORKSPACE });
  return { one, other, agent, run, same: await other.gateway.resumeRun(agent, run.id) };
}

async function kindsOf(call: string): Promise<readonly string[]> {
  return (await here.journal.query({ call })).entries.map(({ kind }) => kind);
}

const endOf = (run: Run, ...call: Parameters<Run['call']>) =>
  run.call(...call).then(
    ({ outcome }) => outcome.code ?? outcome.kind,
    (error: { readonly code: string }) => error.code,
  );

test('a call that is asked about on one node, and answered on the other, runs once, and is attested', async () => {
  const effects: string[] = [];
  const tool = testTool({
    enforced: { secretFiles: ['/srv/work/.env'] },
    execute: async () => ({ effects: effects.push('done') }),
  });
  const { one, other, agent, run } = await onBoth('asker', [tool]);
  const running = run.call(callOf('test.echo', 'k'));
  const [card] = await vi.waitFor(async () => {
    const cards = await other.approvals.pending({ limit: 1, principal: agent.actor });
    expect(cards.length).toBe(1);
    return cards;
  });
  if (card === undefined) throw new Error('nobody was asked');
  await decideAsShown(other.approvals, card.approvalId, { decision: 'approve', scope: 'once', by: here.ada });
  const result = await running;
  expect(result).toMatchObject({ approval: { outcome: 'approved' }, outcome: { kind: 'completed' } });
  expect(await kindsOf(result.call_id)).toEqual([
    'proposal',
    'decision',
    'decision',
    'intent',
    'outcome',
    'attestation',
  ]);
  // The same key on the other node: told again, and nothing runs.
  const elsewhere = await other.gateway.resumeRun(agent, run.id);
  expect(await elsewhere.call(callOf('test.echo', 'k'))).toEqual(result);
  expect(effects).toEqual(['done']);
  for (const each of [one, other]) await each.gateway.close();
  for (const each of [one, other]) each.kill();
});

test('two nodes that make calls of one run at once make no more than it may', async () => {
  let effects = 0;
  const { one, other, run, same } = await onBoth('spender', [testTool({ execute: async () => ({ n: effects++ }) })]);
  const all = Array.from({ length: MOST_CALLS }, () => [run, same]).flat();
  const ends = await Promise.all(all.map((each) => endOf(each, callOf('test.echo'))));
  expect(effects).toBe(MOST_CALLS);
  expect(Map.groupBy(ends, (end) => end)).toEqual(
    new Map([
      ['completed', Array.from({ length: MOST_CALLS }, () => 'completed')],
      ['gateway.budget_exhausted', Array.from({ length: MOST_CALLS }, () => 'gateway.budget_exhausted')],
    ]),
  );
  for (const each of [one, other]) each.kill();
});

test.each([
  ['allowed', {}],
  ['refused', { neverPaths: ['/root/.ssh'] }],
])(
  'one key on two nodes at the same moment, of a call that is %s: one call has it, and both are attested',
  async (name, enforced) => {
    let effects = 0;
    let arrived = 0;
    const both = Promise.withResolvers<void>();
    const tool = testTool({ enforced, execute: async () => ({ n: effects++ }) });
    const meeting: Tool = {
      ...tool,
      async plan(...args) {
        arrived += 1;
        if (arrived === 2) both.resolve();
        await both.promise;
        return tool.plan(...args);
      },
    };
    const { one, other, agent, run, same } = await onBoth(`twin-${name}`, [meeting]);
    const ends = await Promise.all([run, same].map((each) => endOf(each, callOf('test.echo', 'k'))));
    const isAllowed = name === 'allowed';
    expect(ends.toSorted()).toEqual(
      isAllowed ? ['completed', 'gateway.call_elsewhere'] : ['policy.forbidden', 'policy.forbidden'],
    );
    expect(effects).toBe(isAllowed ? 1 : 0);
    const { entries } = await here.journal.query({ principal: agent.actor, kinds: ['proposal', 'attestation'] });
    expect(entries.map(({ kind }) => kind).toSorted()).toEqual(['attestation', 'attestation', 'proposal', 'proposal']);
    for (const each of [one, other]) each.kill();
  },
);

test('what a node that died had begun is settled by its next start, and by no other node', async () => {
  let effects = 0;
  const begun = Promise.withResolvers<void>();
  const stuck = testTool({
    execute: () => {
      effects += 1;
      begun.resolve();
      return new Promise(() => undefined);
    },
  });
  const { one, other, agent, run } = await onBoth('mortal', [stuck]);
  void run.call(callOf('test.echo', 'k'));
  await begun.promise;
  const same = await other.gateway.resumeRun(agent, run.id);
  expect(await endOf(same, callOf('test.echo', 'k'))).toBe('gateway.call_elsewhere');
  one.kill();
  expect(await other.gateway.settleInterrupted()).toEqual([]);

  const next = await nodeAt(here, 'mortal one', [stuck]);
  const [settled = ''] = await next.gateway.settleInterrupted();
  expect(await kindsOf(settled)).toEqual(['proposal', 'decision', 'intent', 'outcome', 'attestation']);
  const again = await next.gateway.resumeRun(agent, run.id);
  expect(await endOf(again, callOf('test.echo', 'k'))).toBe('gateway.interrupted');
  expect(effects).toBe(1);
  for (const each of [next, other]) each.kill();
});

test('and the journal that they wrote together holds', async () => {
  expect(await here.verdict()).toBe('sound');
});
