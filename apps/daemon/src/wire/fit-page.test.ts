import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fitPage } from './fit-page.ts';

test('a page is a beginning that fits, and never empty when there is something', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100)), fc.nat(300), (sizes, room) => {
      const page = fitPage(sizes, room, (size) => size);
      expect(sizes.slice(0, page.length)).toEqual(page);
      const sum = page.reduce((total, size) => total + size, 0);
      if (page.length > 1) expect(sum).toBeLessThanOrEqual(room);
      if (sizes.length > 0) expect(page.length).toBeGreaterThan(0);
      const next = sizes[page.length];
      if (next !== undefined) expect(sum + next).toBeGreaterThan(room);
    }),
  );
});
