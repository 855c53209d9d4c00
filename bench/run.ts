import { readdir } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { AppError } from '@palyra/primitives';
import type { BenchmarkOptions, Progress, RunnableBenchmark } from './harness.ts';
import { renderTable } from './render.ts';

/** Codes are API: add one, never rename one. */
export const BENCH_ERRORS = {
  'bench.usage': 'The command line is not understood.',
  'bench.unknown': 'There is no benchmark of that name.',
  'bench.invalid': 'A benchmark file does not export a benchmark of its own name.',
  'bench.failed': 'A contender failed, or the benchmark could not be set up.',
} as const;

export type BenchErrorCode = keyof typeof BENCH_ERRORS;

export class BenchError extends AppError<BenchErrorCode> {}

export interface RunPlace {
  /** Where the `<name>.bench.ts` files are. */
  readonly directory: URL;
  stdout(text: string): void;
  stderr(text: string): void;
  /** Progress is only for somebody who watches. */
  readonly isTerminal: boolean;
}

const SUFFIX = '.bench.ts';
/**
 * What is measured serves for days. In its first seconds code is interpreted and files still grow: as long as that takes here
 * is not counted, and the rest is long enough for several of the machine's moods.
 */
const DEFAULTS: BenchmarkOptions = { rounds: 5, seconds: 5, warmUp: 3, seed: 1 };
const USAGE = 'npm run -s bench -- NAME [--json] [--rounds N] [--seconds S] [--warm-up S] [--seed N], or --list';

/** Returns the exit code: 0 done, 1 fault, 2 bad usage. */
export async function run(args: readonly string[], place: RunPlace): Promise<number> {
  try {
    const request = parse(args);
    const names = await benchmarkNames(place.directory);
    if (request.kind === 'list') await list(names, place);
    else await measure(request, names, place);
    return 0;
  } catch (fault) {
    place.stderr(describe(fault, { json: args.includes('--json') }));
    const isUsage = fault instanceof BenchError && (fault.code === 'bench.usage' || fault.code === 'bench.unknown');
    return isUsage ? 2 : 1;
  }
}

type Request =
  | { readonly kind: 'list' }
  | {
      readonly kind: 'measure';
      readonly name: string;
      readonly json: boolean;
      readonly options: Partial<BenchmarkOptions>;
    };

function parse(args: readonly string[]): Request {
  const { values, positionals } = parseOrRefuse(args);
  if (values.list === true) return { kind: 'list' };
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw usage('Name one benchmark.');
  const options = {
    ...(values.rounds === undefined ? {} : { rounds: wholeNumber('--rounds', values.rounds) }),
    ...(values.seconds === undefined ? {} : { seconds: positive('--seconds', values.seconds) }),
    ...(values['warm-up'] === undefined ? {} : { warmUp: positive('--warm-up', values['warm-up']) }),
    ...(values.seed === undefined ? {} : { seed: wholeNumber('--seed', values.seed) }),
  };
  return { kind: 'measure', name, json: values.json === true, options };
}

function parseOrRefuse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { list: flag, json: flag, rounds: text, seconds: text, 'warm-up': text, seed: text },
    });
  } catch (cause) {
    throw usage(cause instanceof Error ? cause.message : String(cause));
  }
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (!(value > 0) || !Number.isFinite(value)) throw usage(`${option} wants a positive number, not ${text}.`);
  return value;
}

function wholeNumber(option: string, text: string): number {
  const value = positive(option, text);
  if (!Number.isSafeInteger(value)) throw usage(`${option} wants a whole number, not ${text}.`);
  return value;
}

function usage(message: string): BenchError {
  return new BenchError('bench.usage', message, { fix: USAGE });
}

async function benchmarkNames(directory: URL): Promise<string[]> {
  const files = await readdir(directory);
  return files
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => file.slice(0, -SUFFIX.length))
    .toSorted();
}

async function list(names: readonly string[], { directory, stdout }: RunPlace): Promise<void> {
  const width = Math.max(0, ...names.map((name) => name.length));
  for (const name of names) stdout(`${name.padEnd(width)}  ${(await load(name, directory)).description}\n`);
}

async function measure(
  request: Request & { kind: 'measure' },
  names: readonly string[],
  place: RunPlace,
): Promise<void> {
  if (!names.includes(request.name)) {
    const known = names.length > 0 ? `one of: ${names.join(', ')}` : 'there is none yet';
    throw new BenchError('bench.unknown', `There is no benchmark "${request.name}".`, { fix: `Name ${known}.` });
  }
  const benchmark = await load(request.name, place.directory);
  const options = { ...DEFAULTS, ...benchmark.defaults, ...request.options };
  const report = await benchmark.run(options, progressOn(place));
  if (place.isTerminal) place.stderr(CLEAR_LINE);
  place.stdout(request.json ? `${JSON.stringify(report)}\n` : renderTable(report));
}

async function load(name: string, directory: URL): Promise<RunnableBenchmark> {
  const module: { readonly default?: RunnableBenchmark } = await import(new URL(`${name}${SUFFIX}`, directory).href);
  if (module.default?.name === name) return module.default;
  throw new BenchError('bench.invalid', `bench/${name}${SUFFIX} exports no benchmark named "${name}".`, {
    fix: `End it with: export default defineBenchmark({ name: '${name}', … });`,
  });
}

const CLEAR_LINE = '\r\u001B[K';

function progressOn({ isTerminal, stderr }: RunPlace): Progress {
  return (line) => {
    if (isTerminal) stderr(`${CLEAR_LINE}${line}`);
  };
}

function describe(fault: unknown, { json }: { readonly json: boolean }): string {
  const { code, message, fix } = fault instanceof BenchError ? fault : failed(fault);
  if (json) return `${JSON.stringify({ error: { code, message, fix } })}\n`;
  const trace = code === 'bench.failed' && fault instanceof Error ? `${fault.stack}\n` : '';
  return `error[${code}]: ${message}\n${fix === undefined ? '' : `fix: ${fix}\n`}${trace}`;
}

function failed(cause: unknown): BenchError {
  return new BenchError('bench.failed', cause instanceof Error ? cause.message : String(cause), { cause });
}
