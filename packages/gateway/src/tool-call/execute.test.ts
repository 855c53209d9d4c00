import { expect, test } from 'vitest';
import type { ExecuteContext } from '../catalog/tool.ts';
import type { ConnectionDecider } from '../connections/decide-connection.ts';
import type { DecidedCall } from './decided-call.ts';
import { createExecute } from './execute.ts';
import { permit } from './permitted-call.ts';

const clock = { now: () => 0, sleep: () => new Promise<void>(() => undefined) };

function callOf(execute: (context: ExecuteContext) => Promise<unknown>) {
  const tool = { metadata: {}, execute: (_call: unknown, context: ExecuteContext) => execute(context) };
  const run = { config: { executionTimeoutMs: 1000 } };
  return permit({ tool, run, proposed: {}, signal: new AbortController().signal } as unknown as DecidedCall);
}

const COMPLETED = { kind: 'completed' };
const TARGET = { host: 'example.org', port: 443 } as never;

function watched() {
  const made: AbortSignal[] = [];
  const connections: ConnectionDecider = (_call, over) => {
    made.push(over);
    return async () => ({ kind: 'allowed' });
  };
  return { made, execute: createExecute({ clock, connections }) };
}

test('a call that connects to nothing has nothing made for its connections', async () => {
  const { made, execute } = watched();
  await execute(callOf(async () => COMPLETED));
  expect(made).toEqual([]);
});

test('all connections of a call are decided by one, which is told when the call is over', async () => {
  const { made, execute } = watched();
  const { signal } = new AbortController();
  await execute(
    callOf(async ({ connect }) => {
      await connect?.(TARGET, signal);
      await connect?.(TARGET, signal);
      expect(made.map(({ aborted }) => aborted)).toEqual([false]);
      return COMPLETED;
    }),
  );
  expect(made.map(({ aborted }) => aborted)).toEqual([true]);
});

test('whoever asks for the first time when the call is over finds it over', async () => {
  const { made, execute } = watched();
  const late: Pick<ExecuteContext, 'connect'>[] = [];
  await execute(
    callOf(async (context) => {
      late.push(context);
      return COMPLETED;
    }),
  );
  await late[0]?.connect?.(TARGET, new AbortController().signal);
  expect(made.map(({ aborted }) => aborted)).toEqual([true]);
});
