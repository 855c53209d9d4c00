import { expect, test } from 'vitest';
import { createTaskRoom } from './task-room.ts';

test('the room stays the same while tasks come and go, is never too small and never far too large', () => {
  let tasks = 300;
  const room = createTaskRoom(() => tasks);
  const first = room();
  for (tasks of [310, 290, 330, 370, 250]) expect(room()).toBe(first);
  for (tasks of [0, 63, 64, 400, 5000, 20]) {
    expect(room()).toBeGreaterThan(tasks);
    expect(room()).toBeLessThanOrEqual(tasks + 256);
  }
});
