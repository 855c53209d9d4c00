import { expect, test } from 'vitest';
import { type CallOutput, createPendingCall } from './pending-call.ts';
import type { RunEvent } from './run-event.ts';

function outputAt(offset: number, text: string): RunEvent {
  return { sequence: 1, kind: 'output', stream: 'stdout', data: Buffer.from(text), offset };
}

/** What a listener hears of these chunks. */
async function heard(...chunks: readonly RunEvent[]): Promise<unknown[]> {
  const told: CallOutput[] = [];
  const call = createPendingCall(() => 'R', { onOutput: (output) => void told.push(output) });
  for (const chunk of chunks) await call.hear(chunk, true);
  return told.map(({ data, offset, missed }) => [Buffer.from(data).toString(), offset, missed]);
}

test('output is told once, whole or in part', async () => {
  expect(await heard(outputAt(0, 'abc'), outputAt(0, 'abc'), outputAt(1, 'bcd'), outputAt(4, 'e'))).toEqual([
    ['abc', 0, 0],
    ['d', 3, 0],
    ['e', 4, 0],
  ]);
});

test('what is missing is counted', async () => {
  expect(await heard(outputAt(0, 'abc'), outputAt(10, 'k'))).toEqual([
    ['abc', 0, 0],
    ['k', 10, 7],
  ]);
});
