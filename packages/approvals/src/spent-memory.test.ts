import { expect, test } from 'vitest';
import { createSpentMemory } from './spent-memory.ts';

test('remembers what was spent, asks the record about the rest, and forgets the oldest', async () => {
  const memory = createSpentMemory(async (id) => id === 'recorded');
  memory.add('first');
  expect(await Promise.all(['first', 'recorded', 'other'].map((id) => memory.has(id)))).toEqual([true, true, false]);
  for (let i = 0; i < 100_000; i += 1) memory.add(`${i}`);
  expect(await memory.has('first')).toBe(false);
  expect(await memory.has('99999')).toBe(true);
});
