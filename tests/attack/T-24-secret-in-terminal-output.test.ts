// T-24: a tool in a terminal says a secret letter by letter, with a pause after each, so that it is shown because somebody
// waits for a prompt.
import { Secret } from '@palyra/primitives';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRedactor, type Redactor } from '../../packages/gateway/src/redact/create-redactor.ts';
import { createCaller } from '../integration/attached-caller.ts';
import { executePlan, type GatewayToolsPlace, makeGatewayToolsPlace } from '../integration/gateway-tools-place.ts';

const SECRET = 'Zq81mXwP0aLk29RtYvBn47Hs';
let place: GatewayToolsPlace;

beforeAll(async () => {
  place = await makeGatewayToolsPlace();
});
afterAll(async () => {
  await place.close();
});

/** Its pieces with a pause between them that is longer than anybody waits for the rest of a word. */
const SAYS = `
import sys, time
for piece in sys.argv[1:]:
  sys.stdout.write(piece)
  sys.stdout.flush()
  time.sleep(0.1)
`;

async function say(redact: Redactor, ...pieces: readonly string[]) {
  const tool = place.processRun({}, { redact });
  const told: string[] = [];
  const input = { argv: ['python3', '-c', SAYS, ...pieces], terminal: { rows: 24, columns: 80 } };
  const plan = await tool.plan(input, { runId: 'R', callId: 'C', workspace: place.workspace, timeoutMs: 20_000 });
  const result = await executePlan(tool, plan, {
    ...createCaller(),
    onOutput: (_, bytes) => void told.push(Buffer.from(bytes).toString()),
  });
  const kept = 'stdout' in result ? Buffer.from(result.stdout ?? []).toString() : '';
  return { told: told.join(''), kept };
}

test('a secret that is held is told in no part, neither while it runs nor at its end', async () => {
  const redactor = createRedactor();
  redactor.hold('DEPLOY', new Secret(SECRET));
  const { told, kept } = await say(redactor, 'before ', ...SECRET.split(''), ' after');
  expect({ told, kept }).toEqual({
    told: 'before [secret:DEPLOY] after',
    kept: 'before [secret:DEPLOY] after',
  });
});

test.each([
  ['ghp_', 'Ab3dEf6hIj9lMn2pQr5tUv8xYz1aBc4eFg7h'],
  ['AKIA', 'IOSFODNN7EXAMPL3'],
  ['password=', 'hunter2hunter2X9'],
])(
  'a whole credential that nobody told us about waits for its end, however long that takes: %s',
  async (name, rest) => {
    const { told, kept } = await say(createRedactor(), 'here: ', name + rest, '\n');
    expect(told).not.toContain(rest);
    expect(kept).not.toContain(rest);
    expect(told).toMatch(/^here: (?:password=)?\[detected:/);
  },
);
