// T-24: an agent writes a secret into a command, and the question about it carries it to every device and into the record.
// T-08: or it dresses words up as a credential, so that the mask hides them from the approver.
import { createRedactor } from '@palyra/gateway';
import { Secret } from '@palyra/primitives';
import { decideAsShown } from '@palyra/testkit';
import { afterEach, expect, test, vi } from 'vitest';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { LEAVES_THE_BOX, testTool } from '../integration/gateway-tools-for-tests.ts';

let house: (GatewayHouse & { readonly root: string }) | undefined;

afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

const VALUE = 'tr0ub4dor-and-3-horses-by-the-sea';
const LOOKS_LIKE_ONE = `ghp_${'A1b2C3d4E5'.repeat(4).slice(0, 36)}`;

test('the prompt has the name of a held secret and not its value, and hides nothing that only looks like one', async () => {
  const redactor = createRedactor();
  redactor.hold('DEPLOY', new Secret(VALUE));
  const seen: unknown[] = [];
  const tool = testTool({
    enforced: LEAVES_THE_BOX,
    async execute({ text }) {
      seen.push(text);
      return {};
    },
  });
  house = await openHouse({ tools: [tool], redactor });
  const { gateway, agent, workspace, approvals, ada } = house;
  const run = await gateway.startRun(agent, { workspace });
  const text = `curl -H ${VALUE} ${LOOKS_LIKE_ONE}`;
  const calling = run.call({ tool: 'test.echo', input: JSON.stringify({ text }), agentSays: `I need ${VALUE}.` });
  const card = await vi.waitFor(
    async () => {
      const [found] = await approvals.pending({ limit: 1 });
      if (found === undefined) throw new Error('nobody was asked yet');
      return found;
    },
    { timeout: 20_000 },
  );
  const shown = JSON.stringify(card);
  expect(shown).toContain('[secret:DEPLOY]');
  expect(shown).toContain(LOOKS_LIKE_ONE);
  expect(shown).not.toContain(VALUE);

  // What was approved is the call as it is.
  await decideAsShown(approvals, card.approvalId, { decision: 'approve', scope: 'once', by: ada });
  expect(await calling).toMatchObject({ outcome: { kind: 'completed' } });
  expect(seen).toEqual([text]);
});
