import { expect, test } from 'vitest';
import { createTogether } from './read-together.ts';

test('what is asked in one turn is one query, and what is asked during it is another', async () => {
  const queries: (readonly string[])[] = [];
  const gates: (() => void)[] = [];
  const together = createTogether<string>(async (keys) => {
    queries.push(keys);
    await new Promise<void>((resolve) => void gates.push(resolve));
    return new Map(keys.filter((key) => key !== 'nobody').map((key) => [key, `${key} ${queries.length}`]));
  });
  const first = Promise.all([together.read('a'), together.read('b'), together.read('a'), together.read('nobody')]);
  await Promise.resolve();
  await Promise.resolve();
  const second = together.read('a');
  await Promise.resolve();
  await Promise.resolve();
  expect(queries).toEqual([['a', 'b', 'nobody'], ['a']]);
  for (const open of gates) open();
  expect(await first).toEqual(['a 2', 'b 2', 'a 2', undefined]);
  expect(await second).toBe('a 2');
});
