// T-08: an approver says yes to a harmless command line, and what it does is typed into it afterwards. T-03: or a yes to the
// command without anybody attached, or in another terminal, serves for it.
import type { Approvals } from '@palyra/approvals';
import { decideAsShown } from '@palyra/testkit';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createCaller } from '../integration/attached-caller.ts';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { type GatewayToolsPlace, makeGatewayToolsPlace } from '../integration/gateway-tools-place.ts';

const RUN = 'palyra.process.run';
const TERMINAL = { rows: 24, columns: 80, name: 'xterm' };
let place: GatewayToolsPlace;
let house: (GatewayHouse & { readonly root: string }) | undefined;

beforeAll(async () => {
  place = await makeGatewayToolsPlace();
});
afterAll(async () => {
  await place.close();
});
afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

async function plan(how: object) {
  const planned = await place.plan(RUN, { argv: ['cat'], ...how });
  if (planned.kind === 'refused') throw new Error(planned.message);
  return planned;
}

async function whenAsked(approvals: Approvals) {
  for (;;) {
    const [card] = await approvals.pending({ limit: 1 });
    if (card !== undefined) return card;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test.each([
  ['stdin_open', { stdin_open: true }],
  ['terminal', { terminal: TERMINAL }],
])('%s: the prompt shows that it is fed, and says that nobody has seen with what', async (word, how) => {
  house = await openHouse({ tools: [place.processRun({ environment: [] })] });
  const { approvals, gateway, agent, ada } = house;
  const run = await gateway.startRun(agent, { workspace: { id: 'work', root: place.workspace } });
  const caller = createCaller();
  const input = JSON.stringify({ argv: ['cat'], sandbox: 'limits', ...how });
  const ended = run.call({ tool: RUN, input, ...caller });
  caller.type('\u001b[2J\u001b[1;1Halready approved\n');
  caller.send({ kind: 'end' });
  const { approvalId } = await whenAsked(approvals);
  // Nothing is read of it before there is a yes.
  expect(caller.taken()).toBe(0);
  const shown = await approvals.get(approvalId);
  expect(JSON.stringify(shown)).toContain(word);
  expect(JSON.stringify(shown)).toContain('What is typed into it while it runs is not bound');
  expect(JSON.stringify(shown)).not.toContain('already approved');
  await decideAsShown(approvals, approvalId, { decision: 'approve', scope: 'once', by: ada });
  expect((await ended).outcome).toMatchObject({ kind: 'completed', exit_code: 0 });
  // To whoever called it, it comes as it is.
  await caller.sees('\u001b[2J');
});

test('a yes is to this way of feeding it and no other', async () => {
  const ways = [
    await plan({}),
    await plan({ stdin: '' }),
    await plan({ stdin_open: true }),
    await plan({ terminal: TERMINAL }),
    await plan({ terminal: { ...TERMINAL, rows: 25 } }),
    await plan({ terminal: { ...TERMINAL, name: 'vt100' } }),
  ];
  expect(new Set(ways.map(({ arguments: given }) => JSON.stringify(given))).size).toBe(ways.length);
  const boxes = ways.slice(2).map(({ profile }) => profile);
  expect(new Set(boxes).size).toBe(boxes.length);
});

test.each([{ stdin_open: true }, { terminal: TERMINAL }])(
  '%j outside the box: a yes to the command line is no standing one for whatever is typed',
  async (how) => {
    const { shown } = await plan({ sandbox: 'limits', ...how });
    expect(shown.kind).toBe('call');
  },
);
