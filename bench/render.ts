import type { BenchmarkReport } from './harness.ts';

/** The table a person reads. */
export function renderTable({ bench, baseline, ratio_of, rows, not_measured = [] }: BenchmarkReport): string {
  const meaning = ratio_of === 'per_s' ? 'operations per second, more is better' : 'median latency, less is better';
  const cells = [
    ['', 'p50 ms', 'p99 ms', 'per s', 'ratio'],
    ...rows.map((row) => [row.name, `${row.p50_ms}`, `${row.p99_ms}`, `${row.per_s}`, `${row.ratio}×`]),
  ];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  const lines = cells.map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  const absent = not_measured.map(({ name, why }) => `${name}: NOT MEASURED: ${why}`);
  return [`${bench}: ratio to "${baseline}" (${meaning})`, ...lines, ...absent, ''].join('\n');
}
