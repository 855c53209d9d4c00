import type { Paint } from './paint.ts';

/** Rows of equal length in columns as wide as their widest cell; the last column is left ragged. */
export function renderColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) => {
    const cells = row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)));
    return cells.join('  ').trimEnd();
  });
}

export interface TableView {
  readonly paint: Paint;
  /** Of the screen; where there is none, nothing is cut. */
  readonly columns: number | undefined;
}

const NARROWEST = 8;

/** A heading and rows that fit the screen: the widest column gives way first, and what is cut ends in an ellipsis. */
export function renderTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  { paint, columns }: TableView,
): string {
  const widths = fitWidths([heading, ...rows], columns);
  const cut = (row: readonly string[]) => row.map((cell, column) => shorten(cell, widths[column] ?? cell.length));
  const [first = '', ...lines] = renderColumns([cut(heading), ...rows.map(cut)]);
  return `${[paint('title', first), ...lines].join('\n')}\n`;
}

function fitWidths(rows: readonly (readonly string[])[], columns: number | undefined): readonly number[] {
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const gaps = 2 * (count - 1);
  for (;;) {
    const total = widths.reduce((sum, width) => sum + width, gaps);
    const widest = widths.indexOf(Math.max(...widths));
    const width = widths[widest] ?? 0;
    if (columns === undefined || total <= columns || width <= NARROWEST) return widths;
    // Down to the next widest at most, so that several long columns share what is missing.
    const next = Math.max(NARROWEST, ...widths.filter((each, at) => at !== widest && each < width));
    widths[widest] = Math.max(next, width - Math.max(1, Math.ceil((total - columns) / 2)), NARROWEST);
    if (widths[widest] === width) widths[widest] = width - 1;
  }
}

function shorten(cell: string, width: number): string {
  return cell.length <= width ? cell : `${cell.slice(0, width - 1)}…`;
}
