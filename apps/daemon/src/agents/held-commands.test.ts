import type { ToolCallResult } from '@palyra/gateway';
import { expect, test } from 'vitest';
import { createHeldCommands } from './held-commands.ts';
import { createOutputChannel } from './output-channel.ts';

const NEVER = new AbortController().signal;
const clock = { now: () => 0, sleep: () => new Promise<void>(() => undefined) };

function command() {
  const result = new Promise<ToolCallResult>(() => undefined);
  return { credential: 'one', output: createOutputChannel(), result, cancel: () => undefined };
}

test('a command that nobody came for is given up when its agent is gone, and a later one is not held', async () => {
  const held = createHeldCommands({ clock });
  const waiting = held.hold('a', command(), NEVER);
  held.close();
  expect([await waiting, await held.hold('b', command(), NEVER)]).toEqual([false, false]);
});
