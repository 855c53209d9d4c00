// T-39: an agent that is refused all the time fills the disk with what it proposed.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { testTool } from '../integration/gateway-tools-for-tests.ts';

const KEPT = 64 * 1024;
let house: GatewayHouse & { readonly root: string };

beforeEach(async () => {
  const big = testTool({ name: 'test.big' });
  const inputSchema = {
    type: 'object',
    additionalProperties: false,
    required: ['text'],
    properties: { text: { type: 'string', maxLength: 1_000_000 } },
  };
  const never = testTool({ name: 'test.never', enforced: { neverPaths: ['/root/.ssh'] } });
  house = await openHouse({
    tools: [
      testTool(),
      { ...big, metadata: { ...big.metadata, inputSchema } },
      { ...never, metadata: { ...never.metadata, inputSchema } },
    ],
  });
});

afterEach(async () => {
  await house.close();
  removeHouse(house.root);
});

const bodyFiles = () => {
  const directory = join(house.root, 'bodies');
  return existsSync(directory) ? readdirSync(directory, { recursive: true }) : [];
};

async function keptOf(call: string) {
  const { entries } = await house.journal.query({ call, kinds: ['proposal'] });
  const [proposal] = entries;
  if (proposal?.kind !== 'proposal') throw new Error('There is no proposal.');
  const { bytes } = await house.journal.bodies.read(proposal.data.input);
  return { text: Buffer.from(bytes).toString('utf8'), total: proposal.data.input_total };
}

test.each([
  ['a tool that is not there', 'no.such', 'x'.repeat(16 * 1024 * 1024)],
  ['input beyond the schema', 'test.echo', JSON.stringify({ text: 'x'.repeat(500_000) })],
  ['input beyond everything', 'test.big', JSON.stringify({ text: 'x'.repeat(2_000_000) })],
  ['what policy denies', 'test.never', JSON.stringify({ text: 'x'.repeat(500_000) })],
  ['letters of three bytes', 'no.such', '€'.repeat(200_000)],
])('of %s the beginning, the length and the digest are kept', async (_name, tool, input) => {
  const { gateway, agent, workspace } = house;
  const run = await gateway.startRun(agent, { workspace });
  const call = { tool, input, key: 'k' };
  const refused = await run.call(call);
  expect(refused.outcome.kind).toBe('refused');
  const { text, total } = await keptOf(refused.call_id);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(KEPT);
  expect([total, bodyFiles()]).toEqual([Buffer.byteLength(input), []]);
  expect(text).toContain(createHash('sha256').update(input).digest('hex'));
  // The same call is answered as before, and another one of the same beginning is another one.
  expect(await run.call(call)).toEqual(refused);
  await expect(run.call({ ...call, input: `${input} ` })).rejects.toMatchObject({ code: 'gateway.key_reused' });
  expect(await house.verdict()).toBe('sound');
});

test('of what runs all is kept', async () => {
  const { gateway, agent, workspace } = house;
  const run = await gateway.startRun(agent, { workspace });
  const input = JSON.stringify({ text: 'x'.repeat(500_000) });
  const { call_id, outcome } = await run.call({ tool: 'test.big', input });
  expect(outcome.kind).toBe('completed');
  expect(await keptOf(call_id)).toEqual({ text: input, total: undefined });
  expect(await house.verdict()).toBe('sound');
});
