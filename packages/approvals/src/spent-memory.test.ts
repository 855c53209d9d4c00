import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { DEFAULT_APPROVAL_LIMITS } from './approval-limits.ts';
import { createSpentMemory, keepSpentMs } from './spent-memory.ts';

test('remembers what was spent for as long as told, however much comes after it, and asks the record about the rest', async () => {
  const clock = createFakeClock();
  const isRecorded = async (id: string) => id === 'recorded';
  const memory = createSpentMemory({ isRecorded, clock, keepMs: 1_000 });
  memory.add('first');
  expect(await Promise.all(['first', 'recorded', 'other'].map((id) => memory.has(id)))).toEqual([true, true, false]);
  for (let i = 0; i < 110_000; i += 1) memory.add(`${i}`);
  expect(memory.knows('first')).toBe(true);
  await clock.advance(1_000);
  memory.add('late');
  expect(['first', '0', 'late'].map((id) => memory.knows(id))).toEqual([false, false, true]);
});

test('what is spent is remembered for longer than anything that was signed can hold', () => {
  const { questionMs, sessionMs } = DEFAULT_APPROVAL_LIMITS;
  expect(keepSpentMs(DEFAULT_APPROVAL_LIMITS)).toBeGreaterThan(questionMs + sessionMs);
});
