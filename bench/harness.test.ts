import { expect, test } from 'vitest';
import { type Benchmark, defineBenchmark, turnsOf } from './harness.ts';
import { renderTable } from './render.ts';
import { percentile, statisticsOf } from './statistics.ts';

const OPTIONS = { rounds: 3, seconds: 0.03, warmUp: 0.01, seed: 1 };
const quiet = () => {};

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

function benchmark(overrides: Partial<Benchmark> = {}) {
  return defineBenchmark<undefined>({
    name: 'demo',
    description: 'A demonstration.',
    baseline: 'one',
    ratioOf: 'per_s',
    contenders: [
      { name: 'one', prepare: () => ({ operation: () => pause(2) }) },
      { name: 'eight', concurrency: 8, prepare: () => ({ operation: () => pause(2) }) },
    ],
    setup: () => undefined,
    ...overrides,
  });
}

test.for([
  [[7], 50, 7],
  [[7], 99, 7],
  [[1, 2], 50, 1],
  [[1, 2, 3], 50, 2],
  [[1, 2, 3, 4], 99, 4],
] as const)('nearest rank of %j at %d per cent is %d', ([samples, percent, expected]) => {
  expect(percentile(Float64Array.from(samples), percent)).toBe(expected);
});

test('of 1000 samples the 50th and 99th percentile are the 500th and the 990th', () => {
  const samples = Float64Array.from({ length: 1_000 }, (_value, index) => index + 1);
  expect([percentile(samples, 50), percentile(samples, 99)]).toEqual([500, 990]);
});

test('there is no percentile of nothing', () => {
  expect(() => percentile(new Float64Array(), 50)).toThrow('no percentile of nothing');
});

test('statistics sort as numbers and count completed operations per second of wall time', () => {
  expect(statisticsOf([10, 9, 100, 1], 500)).toEqual({ p50_ms: 9, p99_ms: 100, per_s: 8 });
});

test('an operation that does many things counts as many', async () => {
  expect(statisticsOf([10, 9, 100, 1], 500, 1000)).toEqual({ p50_ms: 9, p99_ms: 100, per_s: 8000 });
  const report = await benchmark({
    contenders: [
      { name: 'one', prepare: () => ({ operation: () => pause(2) }) },
      { name: 'many', prepare: () => ({ operation: () => pause(2), things: 1000 }) },
    ],
  }).run(OPTIONS, quiet);
  expect(report.rows[1]?.ratio).toBeGreaterThan(100);
});

test('every contender has one turn in every round, and the first turn goes round', () => {
  expect(turnsOf(3, 4)).toEqual([
    [0, 1, 2],
    [1, 2, 0],
    [2, 0, 1],
    [0, 1, 2],
  ]);
});

test('contenders are interleaved, after a warm-up that is not counted', async () => {
  const lines: string[] = [];
  const { rows } = await benchmark().run(OPTIONS, (line) => lines.push(line));
  expect(lines).toEqual([
    'warm-up: one',
    'warm-up: eight',
    'round 1 of 3: one',
    'round 1 of 3: eight',
    'round 2 of 3: eight',
    'round 2 of 3: one',
    'round 3 of 3: one',
    'round 3 of 3: eight',
  ]);
  expect(rows.map(({ name }) => name)).toEqual(['one', 'eight']);
});

test.for([
  [0.2, 0.05, 'as long as told'],
  [0.05, 10, 'at most as long as what is measured'],
] as const)('of %d seconds with %d to warm up, the warm-up takes %s', async ([seconds, warmUp]) => {
  const began = new Map<string, number>();
  const progress = (line: string) => began.set(line, performance.now());
  const contenders = [{ name: 'one', prepare: () => ({ operation: () => undefined }) }];
  const start = performance.now();
  await benchmark({ contenders }).run({ ...OPTIONS, seconds, warmUp }, progress);
  const warming = (began.get('round 1 of 3: one') ?? 0) - start;
  expect(warming).toBeGreaterThanOrEqual(Math.min(seconds, warmUp) * 1_000 - 1);
  // Ten seconds would be what was asked for.
  expect(warming).toBeLessThan(9_000);
});

test('the report has exactly the agreed fields, and the baseline the ratio 1', async () => {
  const report = await benchmark().run(OPTIONS, quiet);
  const row = { p50_ms: expect.any(Number), p99_ms: expect.any(Number), per_s: expect.any(Number) };
  expect(report).toEqual({
    bench: 'demo',
    baseline: 'one',
    ratio_of: 'per_s',
    rows: [
      { name: 'one', ...row, ratio: 1 },
      { name: 'eight', ...row, ratio: expect.any(Number) },
    ],
  });
});

test('eight operations in flight complete more in the same time', async () => {
  const { rows } = await benchmark().run({ ...OPTIONS, seconds: 0.15 }, quiet);
  const eight = rows[1];
  expect(eight?.ratio).toBeGreaterThan(1);
});

test('a ratio of p50_ms divides latencies', async () => {
  const contenders = [
    { name: 'one', prepare: () => ({ operation: () => pause(2) }) },
    { name: 'slow', prepare: () => ({ operation: () => pause(12) }) },
  ];
  const { rows } = await benchmark({ ratioOf: 'p50_ms', contenders }).run({ ...OPTIONS, seconds: 0.15 }, quiet);
  expect(rows[1]?.ratio).toBeGreaterThan(1);
});

test('never more operations are in flight than declared, and indexes are not repeated', async () => {
  const seen = { now: 0, most: 0, indexes: [] as number[] };
  const operation = async (index: number) => {
    seen.indexes.push(index);
    seen.now += 1;
    seen.most = Math.max(seen.most, seen.now);
    await pause(1);
    seen.now -= 1;
  };
  const contenders = [{ name: 'one', concurrency: 4, prepare: () => ({ operation }) }];
  await benchmark({ contenders }).run(OPTIONS, quiet);
  expect(seen.most).toBe(4);
  expect(seen.indexes).toEqual(seen.indexes.map((_value, index) => index));
});

test('synchronous operations are measured too', async () => {
  const contenders = [{ name: 'one', prepare: () => ({ operation: () => Math.sqrt(2) }) }];
  const { rows } = await benchmark({ contenders }).run(OPTIONS, quiet);
  expect(rows[0]?.per_s).toBeGreaterThan(1_000);
});

test('a failing contender fails the benchmark, by name, and everything opened is closed in reverse', async () => {
  const closed: string[] = [];
  const contenders = [
    { name: 'one', prepare: () => ({ operation: () => pause(1), close: () => void closed.push('one') }) },
    {
      name: 'broken',
      prepare: () => ({
        operation: async () => {
          throw new Error('disk on fire');
        },
        close: () => void closed.push('broken'),
      }),
    },
  ];
  const teardown = () => void closed.push('teardown');
  await expect(benchmark({ contenders, teardown }).run(OPTIONS, quiet)).rejects.toThrow(
    'The contender broken failed: Error: disk on fire',
  );
  expect(closed).toEqual(['broken', 'one', 'teardown']);
});

test('a sample may be what the operation returns instead of how long it took', async () => {
  const contenders = [
    { name: 'one', prepare: () => ({ operation: async () => 7, sample: 'result' as const }) },
    { name: 'two', prepare: () => ({ operation: () => 21, sample: 'result' as const }) },
  ];
  const { rows } = await benchmark({ ratioOf: 'p50_ms', contenders }).run(OPTIONS, quiet);
  expect(rows.map(({ p50_ms, p99_ms, ratio }) => [p50_ms, p99_ms, ratio])).toEqual([
    [7, 7, 1],
    [21, 21, 3],
  ]);
});

test('a contender that cannot take part is named with its reason, and the others are measured', async () => {
  const contenders = [
    { name: 'one', prepare: () => ({ operation: () => pause(1) }) },
    { name: 'rival', prepare: () => ({ notMeasured: 'it is not installed' }) },
  ];
  const report = await benchmark({ contenders }).run(OPTIONS, quiet);
  expect(report.rows.map(({ name }) => name)).toEqual(['one']);
  expect(report.not_measured).toEqual([{ name: 'rival', why: 'it is not installed' }]);
  expect(renderTable(report)).toMatch(/\nrival: NOT MEASURED: it is not installed\n$/);
});

test('without its baseline there is nothing to compare with', async () => {
  const contenders = [
    { name: 'one', prepare: () => ({ notMeasured: 'there is none' }) },
    { name: 'two', prepare: () => ({ operation: () => pause(1) }) },
  ];
  await expect(benchmark({ contenders }).run(OPTIONS, quiet)).rejects.toThrow('there is none');
});

test('a definition without its baseline, or with one name twice, is refused', () => {
  expect(() => benchmark({ baseline: 'nobody' })).toThrow('no contender nobody');
  const twice = { name: 'one', prepare: () => ({ operation: () => undefined }) };
  expect(() => benchmark({ contenders: [twice, twice] })).toThrow('two contenders have one name');
});

test('the table names the baseline and what the ratio means', () => {
  const table = renderTable({
    bench: 'demo',
    baseline: 'raw',
    ratio_of: 'per_s',
    rows: [
      { name: 'raw', p50_ms: 0.25, p99_ms: 0.5, per_s: 3800, ratio: 1 },
      { name: 'sqlite, 8 writers', p50_ms: 0.6, p99_ms: 1.4, per_s: 13200, ratio: 3.474 },
    ],
  });
  expect(table).toBe(
    [
      'demo: ratio to "raw" (operations per second, more is better)',
      '                   p50 ms  p99 ms  per s   ratio',
      'raw                  0.25     0.5   3800      1×',
      'sqlite, 8 writers     0.6     1.4  13200  3.474×',
      '',
    ].join('\n'),
  );
});
