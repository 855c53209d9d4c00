import { expect, test } from 'vitest';
import { renderColumns } from './table.ts';

test('columns are as wide as their widest cell, and no line ends in blanks', () => {
  expect(
    renderColumns([
      ['A', 'BBB', 'C'],
      ['AAA', 'B', ''],
      ['A', '', 'C C'],
    ]),
  ).toEqual(['A    BBB  C', 'AAA  B', 'A         C C']);
  expect(renderColumns([])).toEqual([]);
});
