import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fitPage } from './fit-page.ts';

test('a page is a beginning that fits, and never empty when there is something', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100)), fc.nat(300), (sizes, room) => {
      const page = fitPage(sizes, room, (size) => size);
      expect(sizes.slice(0, page.length)).toEqual(page);
      const sum = page.reduce((total, size) => total + size, 0);
      const next = sizes[page.length] ?? Number.POSITIVE_INFINITY;
      const isOne = page.length <= Math.min(1, sizes.length);
      expect({
        fits: sum <= room || isOne,
        isEmpty: page.length === 0 && sizes.length > 0,
        isAll: sum + next > room,
      }).toEqual({
        fits: true,
        isEmpty: false,
        isAll: true,
      });
    }),
  );
});
