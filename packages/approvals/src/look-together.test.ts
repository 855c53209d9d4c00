import { expect, test } from 'vitest';
import { createLooker } from './look-together.ts';

test('what is told in one turn is looked at once, and what is told meanwhile after it', async () => {
  const looks: (readonly string[])[] = [];
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: done, resolve: end } = Promise.withResolvers<void>();
  const looker = createLooker(async (ids) => {
    looks.push(ids);
    if (looks.length === 1) await held;
    if (looks.length === 2) end();
  });
  looker.look(['a', 'b']);
  looker.look(['b', 'c']);
  await Promise.resolve();
  looker.look(['a']);
  release();
  await done;
  expect(looks).toEqual([['a', 'b', 'c'], ['a']]);
});

test('many are looked at in groups', async () => {
  const sizes: number[] = [];
  const { promise: done, resolve: end } = Promise.withResolvers<void>();
  const looker = createLooker(async (ids) => {
    sizes.push(ids.length);
    if (sizes.length === 3) end();
  });
  looker.look(Array.from({ length: 1_001 }, (_, i) => `${i}`));
  await done;
  expect(sizes).toEqual([500, 500, 1]);
});
