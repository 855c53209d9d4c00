// T-32: whoever types into a call is gone in the middle of it: the tool takes a part for the whole, runs on without
// anybody, or ends without a record.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { AttachedInput } from '../../packages/gateway/src/tools/attached-input.ts';
import { createCaller } from '../integration/attached-caller.ts';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { type GatewayToolsPlace, makeGatewayToolsPlace } from '../integration/gateway-tools-place.ts';
import { processesWith, uniqueMark } from './sandboxed.ts';

const RUN = 'palyra.process.run';
let place: GatewayToolsPlace;
let house: GatewayHouse & { readonly root: string };

beforeAll(async () => {
  place = await makeGatewayToolsPlace();
});
afterAll(async () => {
  await place.close();
});
afterEach(async () => {
  await house.close();
  removeHouse(house.root);
});

async function startRun() {
  house = await openHouse({ tools: [place.processRun({})] });
  return house.gateway.startRun(house.agent, { workspace: { id: 'work', root: place.workspace } });
}

async function expectRecorded(call: string): Promise<void> {
  const { entries } = await house.journal.query({ call });
  expect(entries.map(({ kind }) => kind)).toEqual(['proposal', 'decision', 'intent', 'outcome', 'attestation']);
  expect(await house.verdict()).toBe('sound');
}

test.each([
  ['while it reads', false],
  ['after the end of what it reads', true],
])('%s: it is ended, with all that it started, and attested as cancelled', async (_, hasEnded) => {
  const run = await startRun();
  const caller = createCaller();
  const mark = uniqueMark();
  const whole = `whole-${hasEnded}`;
  const script = `echo up; ${hasEnded ? 'cat; echo read; sleep 1000' : 'cat'}; touch ${whole}`;
  const ended = run.call({
    tool: RUN,
    input: JSON.stringify({ argv: ['sh', '-c', script, mark], stdin_open: true }),
    ...caller,
  });
  await caller.sees('up\n');
  caller.type('half of it');
  if (hasEnded) caller.send({ kind: 'end' });
  await caller.sees(hasEnded ? 'read\n' : 'half of it');
  caller.vanish();
  const { outcome, call_id } = await ended;
  expect(outcome).toMatchObject({ kind: 'cancelled', code: 'tool.cancelled' });
  expect(existsSync(join(place.workspace, whole))).toBe(false);
  expect(processesWith(mark)).toEqual([]);
  await expectRecorded(call_id);
});

test('a source that cannot even be begun ends it as well', async () => {
  const run = await startRun();
  const attached: AsyncIterable<AttachedInput> = {
    [Symbol.asyncIterator]: () => {
      throw new Error('The connection is gone.');
    },
  };
  const input = JSON.stringify({ argv: ['sh', '-c', 'cat; touch began'], stdin_open: true });
  const { outcome, call_id } = await run.call({ tool: RUN, input, attached });
  expect(outcome).toMatchObject({ kind: 'cancelled' });
  expect(existsSync(join(place.workspace, 'began'))).toBe(false);
  await expectRecorded(call_id);
});
