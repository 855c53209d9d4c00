import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import type { ToolPlan } from '../catalog/tool.ts';
import type { PermittedCall } from '../tool-call/permitted-call.ts';
import { createEcho } from './echo.ts';
import { createSleep } from './sleep.ts';

const PLACE = { runId: 'run', callId: 'call', workspace: '/work', timeoutMs: 5000 };
const NOBODY = new AbortController().signal;
const permitted = (plan: unknown) => ({ plan: plan as ToolPlan }) as PermittedCall;

test('echo says what it is told, reaches for nothing and claims no sandbox', async () => {
  const clock = createFakeClock(1000);
  const echo = createEcho({ clock });
  const plan = await echo.plan({ text: 'hi' }, PLACE);
  expect(plan).toMatchObject({
    kind: 'planned',
    arguments: { text: 'hi' },
    capabilities: [],
    enforced: { tier: 'built_in', egress: 'strict', hosts: [], readRoots: [], writeRoots: [] },
    shown: { kind: 'call', name: 'palyra.echo', arguments: '{"text":"hi"}' },
    limits: { wall_ms: 5000 },
  });
  expect(await echo.execute(permitted(plan), { signal: NOBODY })).toEqual({
    kind: 'completed',
    output: { text: 'hi' },
    ran: {
      executor: 'built_in',
      enforcement: 'none',
      sandbox: {},
      resources: { wall_ms: 0 },
      egress: [],
      startedAt: 1000,
      endedAt: 1000,
    },
  });
});

test('sleep waits for as long as it is told', async () => {
  const clock = createFakeClock(1000);
  const sleep = createSleep({ clock });
  const slept = sleep.execute(permitted(await sleep.plan({ ms: 50 }, PLACE)), { signal: NOBODY });
  await clock.advance(50);
  expect(await slept).toMatchObject({
    kind: 'completed',
    output: { slept_ms: 50 },
    ran: { startedAt: 1000, endedAt: 1050 },
  });
});

test('sleep ends when it is cancelled, and when its time is over', async () => {
  const clock = createFakeClock();
  const sleep = createSleep({ clock });
  const plan = permitted(await sleep.plan({ ms: 50 }, PLACE));
  const end = async (reason?: unknown) => {
    const stop = new AbortController();
    const slept = sleep.execute(plan, { signal: stop.signal });
    stop.abort(reason);
    return slept;
  };
  expect(await end()).toMatchObject({ kind: 'cancelled', code: 'tool.cancelled' });
  expect(await end(new DOMException('Too late.', 'TimeoutError'))).toMatchObject({
    kind: 'timed_out',
    code: 'tool.timed_out',
  });
});
