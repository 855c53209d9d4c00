import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPositionFinder } from './text-position.ts';

test('lines and columns count from one, and a column is a character', () => {
  const positionAt = createPositionFinder('a\r\n\n😀b');
  expect([0, 1, 3, 4, 6, 7].map((offset) => positionAt(offset))).toEqual([
    { line: 1, column: 1 },
    { line: 1, column: 2 },
    { line: 2, column: 1 },
    { line: 3, column: 1 },
    { line: 3, column: 2 },
    { line: 3, column: 3 },
  ]);
});

test('every offset has the position that counting from the start gives', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', '\n', '\r\n', 'é')), fc.nat(60), (parts, at) => {
      const text = parts.join('');
      const offset = Math.min(at, text.length);
      const lines = text.slice(0, offset).split('\n');
      expect(createPositionFinder(text)(offset)).toEqual({
        line: lines.length,
        column: (lines.at(-1) ?? '').length + 1,
      });
    }),
  );
});
