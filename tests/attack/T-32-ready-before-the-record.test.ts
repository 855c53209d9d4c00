// T-32: what is made ready while the intent of a call is being recorded does something before there is a record of it, or
// stays behind when there never is one.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Readiness, Tool } from '@palyra/gateway';
import type { Journal } from '@palyra/journal';
import { afterEach, expect, test } from 'vitest';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { testTool } from '../integration/gateway-tools-for-tests.ts';
import { makeGatewayToolsPlace } from '../integration/gateway-tools-place.ts';

let house: (GatewayHouse & { readonly root: string }) | undefined;

afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

/** Notes in which order things happen. */
function watchedTool(happened: string[]): Tool {
  const tool = testTool({
    execute: async () => {
      happened.push('executed');
      return {};
    },
  });
  const ready: Readiness = { [Symbol.dispose]: () => void happened.push('given up') };
  return {
    ...tool,
    makeReady() {
      happened.push('made ready');
      return ready;
    },
    async execute(call, context) {
      expect(context.ready).toBe(ready);
      return tool.execute(call, context);
    },
  };
}

function recording(happened: string[], refuse: boolean): (journal: Journal) => Journal {
  return (journal) => ({
    ...journal,
    async append(actor, drafts, options) {
      const isIntent = drafts.some(({ kind }) => kind === 'intent');
      if (isIntent && refuse) throw new Error('The journal takes nothing.');
      const appended = await journal.append(actor, drafts, options);
      if (isIntent) happened.push('recorded');
      return appended;
    },
  });
}

async function callOnce(happened: string[], refuse: boolean, tool: Tool = watchedTool(happened)) {
  house = await openHouse({ tools: [tool], around: recording(happened, refuse) });
  const run = await house.gateway.startRun(house.agent, { workspace: house.workspace });
  return run.call({ tool: 'test.echo', input: '{"text":"a"}' });
}

test('nothing runs before the intent is recorded, whatever was made ready meanwhile', async () => {
  const happened: string[] = [];
  expect((await callOnce(happened, false)).outcome.kind).toBe('completed');
  // Which of the two comes first is the machine's matter: they go on beside one another.
  expect(happened.slice(0, 2).toSorted()).toEqual(['made ready', 'recorded']);
  expect(happened.slice(2)).toEqual(['executed', 'given up']);
});

test('what was made ready for a call whose intent cannot be recorded is given up, and nothing runs', async () => {
  const happened: string[] = [];
  expect((await callOnce(happened, true)).outcome.kind).toBe('refused');
  expect(happened).toEqual(['made ready', 'given up']);
});

test('a call that cannot be made ready runs when its intent is recorded, and is not called refused beside its record', async () => {
  const happened: string[] = [];
  const unready: Tool = {
    ...testTool({ execute: async () => ({ executed: happened.push('executed') }) }),
    makeReady() {
      throw new Error('It cannot be made ready.');
    },
  };
  expect((await callOnce(happened, false, unready)).outcome.kind).toBe('completed');
  expect(happened).toEqual(['recorded', 'executed']);
});

/** Longer than a box takes to be made, its facts to be compared and its command to run. */
const LONG_MS = 400;

test.each([
  ['started for it', 'off'],
  ['started ahead', {}],
] as const)('a real command in a box %s waits for its record, and never runs without one', async (_, pool) => {
  await using place = await makeGatewayToolsPlace(pool);
  const touched = () => existsSync(join(place.workspace, 'touched'));
  let intents: 'taken' | 'slow' | 'refused' = 'taken';
  const seen: boolean[] = [];
  const around = (journal: Journal): Journal => ({
    ...journal,
    async append(actor, drafts, options) {
      const isIntent = drafts.some(({ kind }) => kind === 'intent');
      if (!isIntent || intents === 'taken') return journal.append(actor, drafts, options);
      await setTimeout(LONG_MS);
      seen.push(touched());
      if (intents === 'refused') throw new Error('The journal takes nothing.');
      return journal.append(actor, drafts, options);
    },
  });
  house = await openHouse({ tools: [place.processRun({})], around });
  const run = await house.gateway.startRun(house.agent, { workspace: { id: 'work', root: place.workspace } });
  const call = (argv: readonly string[]) => run.call({ tool: 'palyra.process.run', input: JSON.stringify({ argv }) });
  // Twice, so that there is a box that waits, where there is a pool.
  for (let times = 0; times < 2; times += 1) expect((await call(['true'])).outcome.kind).toBe('completed');
  await place.sandbox.warmed();

  intents = 'refused';
  expect((await call(['touch', 'touched'])).outcome.kind).toBe('refused');
  await setTimeout(LONG_MS);
  expect([...seen, touched()]).toEqual([false, false]);

  intents = 'slow';
  expect((await call(['touch', 'touched'])).outcome.kind).toBe('completed');
  expect([...seen, touched()]).toEqual([false, false, true]);
});
