export interface RowStatistics {
  readonly p50_ms: number;
  readonly p99_ms: number;
  /** Completed operations, or the things they did, per second of wall time, all lanes of the contender together. */
  readonly per_s: number;
}

export function statisticsOf(latenciesMs: readonly number[], elapsedMs: number, things = 1): RowStatistics {
  const sorted = Float64Array.from(latenciesMs).toSorted();
  return {
    p50_ms: significant(percentile(sorted, 50)),
    p99_ms: significant(percentile(sorted, 99)),
    per_s: significant((latenciesMs.length * things * 1_000) / elapsedMs),
  };
}

/** The smallest sample that at least `percent` per cent of the samples do not exceed (nearest rank). */
export function percentile(sorted: Float64Array, percent: number): number {
  if (sorted.length === 0) throw new RangeError('There is no percentile of nothing.');
  const rank = Math.max(1, Math.ceil((percent / 100) * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

/** Microseconds matter in milliseconds and units in thousands per second; more digits would only be noise. */
function significant(value: number): number {
  return Number(value.toPrecision(4));
}
