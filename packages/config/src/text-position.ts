/** As editors count: both from 1, the column in characters, not in bytes or UTF-16 units. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/**
 * The lines are found once, and columns are counted on from the place asked for last, so that a file with thousands of
 * mistakes, all in one line even, is still reported at once.
 */
export function createPositionFinder(text: string): (offset: number) => TextPosition {
  const lineStarts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lineStarts.push(at + 1);

  let last = { offset: 0, column: 1 };
  return (offset) => {
    let low = 0;
    let high = lineStarts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    const lineStart = lineStarts[low] ?? 0;
    const from = last.offset >= lineStart && last.offset <= offset ? last : { offset: lineStart, column: 1 };
    last = { offset, column: from.column + Array.from(text.slice(from.offset, offset)).length };
    return { line: low + 1, column: last.column };
  };
}
