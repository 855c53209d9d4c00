import { type RowStatistics, statisticsOf } from './statistics.ts';

/** One way of doing the thing that is measured. */
export interface Contender<Context> {
  readonly name: string;
  /** How many operations are in flight at once; 1 unless told. */
  readonly concurrency?: number;
  /** Opens what the contender needs. Called once, before the warm-up, and not measured. */
  prepare(context: Context): Promise<Workload | NotMeasured> | Workload | NotMeasured;
}

/** What this machine lacks for a contender, such as a rival that cannot be installed: the others are measured, and the report says so. */
export interface NotMeasured {
  readonly notMeasured: string;
}

export interface Workload {
  /** One operation, measured until it returns or its promise settles. `index` counts all operations of this contender from 0. */
  operation(index: number): unknown;
  /** How many things one operation does, such as the entries it verifies; 1 unless told. `per_s` counts things. */
  readonly things?: number;
  /** What a sample is: how long the operation took, unless told, or the milliseconds that it returns. */
  readonly sample?: 'duration' | 'result';
  close?(): Promise<void> | void;
}

/** The figure a ratio compares: throughput (more is better) or median latency (less is better). */
export type RatioOf = 'per_s' | 'p50_ms';

export interface BenchmarkOptions {
  /** How often each contender gets its turn. */
  readonly rounds: number;
  /** Measured time for each contender, over all rounds. */
  readonly seconds: number;
  /** Time for each contender that is not measured, before the first round; never longer than what is. */
  readonly warmUp: number;
  /** For whatever a benchmark makes up: the same seed gives the same work. */
  readonly seed: number;
}

export interface Benchmark<Context = undefined> {
  /** Same as the file's: `<name>.bench.ts`. */
  readonly name: string;
  /** One sentence for `--list`. */
  readonly description: string;
  /** The contender that the others are divided by. */
  readonly baseline: string;
  readonly ratioOf: RatioOf;
  readonly contenders: readonly Contender<Context>[];
  /** What a measurement needs when the command line does not say; `DEFAULTS` of `run.ts` unless told. */
  readonly defaults?: Partial<BenchmarkOptions>;
  setup(options: BenchmarkOptions): Promise<Context> | Context;
  teardown?(context: Context): Promise<void> | void;
}

export interface BenchmarkRow extends RowStatistics {
  readonly name: string;
  /** `ratioOf` of this contender divided by that of the baseline. */
  readonly ratio: number;
}

/** Printed as it is by `--json`. */
export interface BenchmarkReport {
  readonly bench: string;
  readonly baseline: string;
  readonly ratio_of: RatioOf;
  readonly rows: readonly BenchmarkRow[];
  /** Absent when everybody took part. */
  readonly not_measured?: readonly { readonly name: string; readonly why: string }[];
}

export type Progress = (line: string) => void;

/** A benchmark whose `Context` only its own file knows. */
export interface RunnableBenchmark {
  readonly name: string;
  readonly description: string;
  readonly defaults: Partial<BenchmarkOptions>;
  run(options: BenchmarkOptions, progress: Progress): Promise<BenchmarkReport>;
}

/** Default export of every `bench/<name>.bench.ts`. */
export function defineBenchmark<Context>(benchmark: Benchmark<Context>): RunnableBenchmark {
  const names = benchmark.contenders.map(({ name }) => name);
  if (new Set(names).size !== names.length) throw new Error(`${benchmark.name}: two contenders have one name.`);
  if (!names.includes(benchmark.baseline)) throw new Error(`${benchmark.name}: no contender ${benchmark.baseline}.`);
  return {
    name: benchmark.name,
    description: benchmark.description,
    defaults: benchmark.defaults ?? {},
    async run(options, progress) {
      const context = await benchmark.setup(options);
      try {
        return report(benchmark, await measure(benchmark.contenders, context, { options, progress }));
      } finally {
        await benchmark.teardown?.(context);
      }
    },
  };
}

/** Everybody once per round, each round starting with the next contender, so that none always runs first or after the same. */
export function turnsOf(contenders: number, rounds: number): number[][] {
  return Array.from({ length: rounds }, (_round, round) =>
    Array.from({ length: contenders }, (_turn, turn) => (round + turn) % contenders),
  );
}

interface Entrant {
  readonly name: string;
  readonly concurrency: number;
  readonly workload: Workload;
  started: number;
}

interface Samples {
  readonly latencies: number[];
  elapsedMs: number;
}

interface Measured {
  readonly rows: ReadonlyMap<string, RowStatistics>;
  readonly absent: readonly { readonly name: string; readonly why: string }[];
}

interface Measuring {
  readonly options: BenchmarkOptions;
  readonly progress: Progress;
}

async function measure<Context>(
  contenders: readonly Contender<Context>[],
  context: Context,
  { options, progress }: Measuring,
): Promise<Measured> {
  const entrants: Entrant[] = [];
  const absent: { name: string; why: string }[] = [];
  try {
    for (const { name, concurrency = 1, prepare } of contenders) {
      const workload = await prepare(context);
      if ('notMeasured' in workload) absent.push({ name, why: workload.notMeasured });
      else entrants.push({ name, concurrency, workload, started: 0 });
    }
    return { rows: await playRounds(entrants, { options, progress }), absent };
  } finally {
    for (const { workload } of entrants.toReversed()) await workload.close?.();
  }
}

async function playRounds(entrants: readonly Entrant[], { options, progress }: Measuring) {
  const sliceMs = (options.seconds * 1_000) / options.rounds;
  const warmUpMs = Math.min(options.warmUp, options.seconds) * 1_000;
  const samples = new Map(entrants.map(({ name }): [string, Samples] => [name, { latencies: [], elapsedMs: 0 }]));
  for (const entrant of entrants) {
    progress(`warm-up: ${entrant.name}`);
    await playTurn(entrant, warmUpMs, { latencies: [], elapsedMs: 0 });
  }
  for (const [round, turns] of turnsOf(entrants.length, options.rounds).entries()) {
    for (const turn of turns) {
      const entrant = entrants[turn];
      const into = entrant && samples.get(entrant.name);
      if (entrant === undefined || into === undefined) continue;
      progress(`round ${round + 1} of ${options.rounds}: ${entrant.name}`);
      await playTurn(entrant, sliceMs, into);
    }
  }
  return new Map(
    entrants.map(({ name, workload }) => {
      const { latencies, elapsedMs } = samples.get(name) as Samples;
      return [name, statisticsOf(latencies, elapsedMs, workload.things)];
    }),
  );
}

/** Keeps `concurrency` operations in flight until the time is over; the last ones are waited for and counted. */
async function playTurn(entrant: Entrant, sliceMs: number, into: Samples): Promise<void> {
  const start = performance.now();
  const isResult = entrant.workload.sample === 'result';
  let isOver = false;

  async function lane(): Promise<void> {
    while (!isOver) {
      const before = performance.now();
      const result = entrant.workload.operation(entrant.started++);
      // Awaiting what is no promise would charge a synchronous contender for a turn it does not take.
      const settled: unknown = result instanceof Promise ? await result : result;
      const after = performance.now();
      into.latencies.push(isResult ? Number(settled) : after - before);
      if (after - start >= sliceMs) isOver = true;
    }
  }

  try {
    await Promise.all(Array.from({ length: entrant.concurrency }, lane));
  } catch (cause) {
    throw new Error(`The contender ${entrant.name} failed: ${String(cause)}`, { cause });
  } finally {
    // The other lanes stop too when one has failed.
    isOver = true;
  }
  into.elapsedMs += performance.now() - start;
}

function report<Context>(
  { name, baseline, ratioOf, contenders }: Benchmark<Context>,
  { rows: measured, absent }: Measured,
): BenchmarkReport {
  const base = measured.get(baseline);
  if (base === undefined) throw new Error(`The baseline was not measured: ${absent[0]?.why}`);
  const rows = contenders.flatMap((contender) => {
    const own = measured.get(contender.name);
    return own ? [{ name: contender.name, ...own, ratio: rounded(own[ratioOf] / base[ratioOf]) }] : [];
  });
  return {
    bench: name,
    baseline,
    ratio_of: ratioOf,
    rows,
    ...(absent.length === 0 ? {} : { not_measured: absent }),
  };
}

function rounded(ratio: number): number {
  return Number(ratio.toPrecision(4));
}
