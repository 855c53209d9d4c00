import { expect, test } from 'vitest';
import { createRootMemory } from './root-memory.ts';

const rootOf = (size: number) => new Uint8Array([size]);

test('the latest roots are remembered, and those that are wanted however old they are', () => {
  const roots = createRootMemory({ wanted: [2], limit: 3 });
  for (let size = 1; size <= 9; size += 1) roots.remember(size, rootOf(size));
  const remembered = Array.from({ length: 10 }, (_, size) => size).filter((size) => roots.at(size) !== undefined);
  expect(remembered).toEqual([2, 7, 8, 9]);
  expect(roots.at(2)).toEqual(rootOf(2));
});
