// T-32: something ran, the journal could not take its outcome, and there is no record of it for as long as palyrad runs.
import type { Journal } from '@palyra/journal';
import { afterEach, expect, test, vi } from 'vitest';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { testTool } from '../integration/gateway-tools-for-tests.ts';

const PATIENT = { timeout: 20_000 };
const CALL = { tool: 'test.echo', input: '{"text":"a"}', key: 'k' };
let house: (GatewayHouse & { readonly root: string }) | undefined;

afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

type Fault = 'full' | 'full for bodies' | 'written and not told';

async function openFaulty(fault: { is: Fault | undefined }) {
  let runs = 0;
  const around = (journal: Journal): Journal => ({
    ...journal,
    bodies: {
      ...journal.bodies,
      prepare: (source) =>
        fault.is === 'full for bodies' && runs > 0 ? Promise.reject(new Error('full')) : journal.bodies.prepare(source),
    },
    async attest(...args) {
      if (fault.is === 'full') throw new Error('full');
      const outcome = await journal.attest(...args);
      if (fault.is === 'written and not told') throw new Error('unknown');
      return outcome;
    },
  });
  const tool = testTool({ execute: async () => ({ runs: ++runs }) });
  house = await openHouse({ tools: [tool], around });
  const run = await house.gateway.startRun(house.agent, { workspace: house.workspace });
  return { ...house, run, runs: () => runs };
}

test.each<Fault>(['full', 'full for bodies', 'written and not told'])(
  'what ran while the journal was %s is attested once it is not, and told to the same key',
  async (what) => {
    const fault: { is: Fault | undefined } = { is: what };
    const { run, runs, journal, verdict } = await openFaulty(fault);
    await expect(run.call(CALL)).rejects.toThrow(/full|unknown/);
    fault.is = undefined;
    const again = await vi.waitFor(() => run.call(CALL), PATIENT);
    expect([runs(), again.outcome]).toMatchObject([1, { kind: 'completed', output: { runs: 1 } }]);
    const { entries } = await journal.query({ call: again.call_id, kinds: ['outcome', 'attestation'] });
    expect(entries.map(({ kind }) => kind)).toEqual(['outcome', 'attestation']);
    expect(await verdict()).toBe('sound');
  },
);

test('what cannot be recorded until the end is settled at the next start, and keeps nobody from ending', async () => {
  const { run, root } = await openFaulty({ is: 'full' });
  await expect(run.call(CALL)).rejects.toThrow('full');
  await house?.close();
  house = await openHouse({ tools: [testTool()], root });
  expect(await house.gateway.settleInterrupted()).toHaveLength(1);
});
