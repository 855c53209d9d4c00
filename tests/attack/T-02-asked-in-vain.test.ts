// T-02: a human is asked about a call that its schema, the operator, the budget, the plan or policy would refuse anyway.
import { DEFAULT_TOOL_CALL_CONFIG } from '@palyra/gateway';
import { afterEach, expect, test, vi } from 'vitest';
import { type GatewayHouse, openHouse, removeHouse } from '../integration/gateway-house.ts';
import { LEAVES_THE_BOX, testTool } from '../integration/gateway-tools-for-tests.ts';

const PATIENT = { timeout: 20_000 };
const NEVER = new AbortController().signal;
const INPUT = '{"text":"a"}';
const asking = testTool({ name: 'test.asks', enforced: LEAVES_THE_BOX });

let house: (GatewayHouse & { readonly root: string }) | undefined;

afterEach(async () => {
  await house?.close();
  if (house !== undefined) removeHouse(house.root);
  house = undefined;
});

async function begin(config: Partial<typeof DEFAULT_TOOL_CALL_CONFIG> = {}) {
  const neverAndAsks = testTool({ name: 'test.never', enforced: { ...LEAVES_THE_BOX, neverPaths: ['/root/.ssh'] } });
  const unplanned = {
    ...testTool({ name: 'test.unplanned', enforced: LEAVES_THE_BOX }),
    plan: async () => ({ kind: 'refused', code: 'sandbox.refused', message: 'No.', fix: undefined }) as const,
  };
  const opened = await openHouse({
    tools: [asking, neverAndAsks, unplanned],
    config: { ...DEFAULT_TOOL_CALL_CONFIG, ...config },
  });
  house = opened;
  const run = await opened.gateway.startRun(opened.agent, { workspace: opened.workspace });
  return {
    call: (tool: string, input = INPUT, signal = NEVER) => run.call({ tool, input, signal }),
    open: () => opened.approvals.pending({ limit: 10 }),
    cancel: () => run.cancel(),
    async asked() {
      const { entries } = await opened.journal.query({ kinds: ['approval.requested'] });
      return entries.length;
    },
  };
}

test.for([
  ['its input is not what its schema says', {}, 'test.asks', '{"text":1}', 'gateway.invalid_input'],
  ['a key is there twice', {}, 'test.asks', '{"text":"a","text":"b"}', 'gateway.invalid_input'],
  [
    'the operator does not allow the tool',
    { allowedTools: ['other.*'] },
    'test.asks',
    INPUT,
    'gateway.tool_not_allowed',
  ],
  ['its plan is refused', {}, 'test.unplanned', INPUT, 'sandbox.refused'],
  ['policy would not allow it even then', {}, 'test.never', INPUT, 'policy.forbidden'],
] as const)('nobody is asked when %s', async ([, config, tool, input, code]) => {
  const { call, asked } = await begin(config);
  expect((await call(tool, input)).outcome).toMatchObject({ kind: 'refused', code });
  expect(await asked()).toBe(0);
});

test('nobody is asked about one call more than the run may make, also while the last one waits for its answer', async () => {
  const { call, open, asked, cancel } = await begin({ maxCallsPerRun: 1 });
  const waiting = call('test.asks');
  await vi.waitFor(async () => expect(await open()).toHaveLength(1), PATIENT);
  const other = await call('test.asks', '{"text":"b"}', AbortSignal.timeout(PATIENT.timeout));
  expect(other.outcome).toMatchObject({ kind: 'refused', code: 'gateway.budget_exhausted' });
  expect(await asked()).toBe(1);
  await cancel();
  await waiting;
});
