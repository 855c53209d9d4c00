import type { CallEvent, Gateway, Run, ToolCallResult } from '@palyra/gateway';
import { expect, test } from 'vitest';
import { watchCalls } from './watch-calls.ts';

type Proposed = Parameters<Run['call']>[0];

/** A run whose calls end when the test says so. */
function scripted() {
  const calls: { proposed: Proposed; end: PromiseWithResolvers<ToolCallResult> }[] = [];
  const run = {
    id: 'R',
    call(proposed: Proposed) {
      const end = Promise.withResolvers<ToolCallResult>();
      calls.push({ proposed, end });
      return end.promise;
    },
  } as unknown as Run;
  const gateway = { startRun: async () => run, resumeRun: async () => run } as unknown as Gateway;
  return { gateway, calls };
}

const STARTED = { kind: 'started' } as CallEvent;
const RESULT = { tool: 'palyra.echo', outcome: { kind: 'completed' } } as ToolCallResult;

test('a call is under way from its proposal on, and executes from its start on', async () => {
  const { gateway, calls } = scripted();
  const told: string[] = [];
  const watched = watchCalls(gateway, [
    {
      proposed: ({ run, tool }) => {
        told.push(`${run} ${tool}`);
        return { step: ({ kind }) => told.push(kind), ended: (result) => told.push(result?.outcome.kind ?? 'none') };
      },
    },
  ]);
  const heard: string[] = [];
  const run = await watched.gateway.startRun({} as never, {} as never);
  const done = run.call({ tool: 'palyra.echo', input: '{}', onEvent: ({ kind }) => heard.push(kind) });
  expect([watched.calls.underWay, watched.calls.executing]).toEqual([1, 0]);
  await watched.calls.idle();
  calls[0]?.proposed.onEvent?.(STARTED);
  expect([watched.calls.underWay, watched.calls.executing]).toEqual([1, 1]);
  let isIdle = false;
  const idle = watched.calls.idle().then(() => {
    isIdle = true;
  });
  await Promise.resolve();
  expect(isIdle).toBe(false);
  calls[0]?.end.resolve(RESULT);
  expect(await done).toBe(RESULT);
  await idle;
  expect([watched.calls.underWay, watched.calls.executing]).toEqual([0, 0]);
  expect(told).toEqual(['R palyra.echo', 'started', 'completed']);
  expect(heard).toEqual(['started']);
});

test('one that could not be taken has ended all the same', async () => {
  const { gateway, calls } = scripted();
  const watched = watchCalls(gateway, []);
  const run = await watched.gateway.resumeRun({} as never, 'R' as never);
  const failing = run.call({ tool: 'palyra.echo', input: '{}' });
  calls[0]?.end.reject(new Error('The run is over.'));
  await expect(failing).rejects.toThrow('The run is over.');
  expect(watched.calls.underWay).toBe(0);
});
