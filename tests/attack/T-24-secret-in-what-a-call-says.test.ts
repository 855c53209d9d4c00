// T-24: a secret leaves in the sentence that says how a call ended, which is told, kept in its row and told again.
import { createRedactor, type ToolResult } from '@palyra/gateway';
import { Secret } from '@palyra/primitives';
import { afterEach, expect, test } from 'vitest';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { testTool } from '../integration/gateway-tools-for-tests.ts';

let house: (GatewayHouse & { readonly root: string }) | undefined;

afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

const SECRET = 'Zq81mXwP0aLk29RtYvBn47Hs';
const refused = {
  kind: 'refused',
  code: 'upstream.refused',
  message: `The server says: bad token ${SECRET}`,
  fix: `Not ${SECRET}.`,
} as const;

test('no sentence of a tool has it, the first time or again', async () => {
  const redactor = createRedactor();
  redactor.hold('KEY', new Secret(SECRET));
  const fails = { ...testTool({ name: 'test.fails' }), execute: async (): Promise<ToolResult> => refused };
  const refuses = { ...testTool({ name: 'test.refuses' }), plan: async () => refused };
  house = await openHouse({ tools: [fails, refuses], redactor });
  const run = await house.gateway.startRun(house.agent, { workspace: house.workspace });
  for (const tool of ['test.fails', 'test.refuses']) {
    const call = () => run.call({ tool, input: '{"text":"a"}', key: tool });
    const told = [await call(), await call()];
    expect(told[0]?.outcome).toMatchObject({ kind: 'refused', message: 'The server says: bad token [secret:KEY]' });
    expect(JSON.stringify(told)).not.toContain(SECRET);
  }
});

test('the end of a whole output does not tell whether a guess of the first letters is right', async () => {
  const redactor = createRedactor();
  redactor.hold('KEY', new Secret(SECRET));
  const tool = testTool();
  const guesses = {
    ...tool,
    execute: async (...args: Parameters<typeof tool.execute>): Promise<ToolResult> =>
      ({ ...(await tool.execute(...args)), stdout: Buffer.from(`guess: ${SECRET.slice(0, 6)}`) }) as ToolResult,
  };
  house = await openHouse({ tools: [guesses], redactor });
  const run = await house.gateway.startRun(house.agent, { workspace: house.workspace });
  const { outcome } = await run.call({ tool: 'test.echo', input: '{"text":"a"}' });
  expect(outcome.stdout).toBe(`guess: ${SECRET.slice(0, 6)}`);
});
