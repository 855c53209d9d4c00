import { readdir, readFile, readlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import {
  checkGuest,
  DEFAULT_STACK_SLOTS,
  DEFAULT_WASM_LIMITS,
  describeModule,
  type GrantedEntry,
  type GrantedPrefix,
  instrument,
  NO_GRANTS,
} from '@palyra/wasm';
import { createGuest } from '../../packages/wasm/src/host/create-guest.ts';
import { ConformanceError, runVectors, type SuiteResult, type VectorOutcome } from './suite.ts';

/** What a specification beside a module says; everything may be absent. */
interface Specification {
  readonly args?: readonly string[];
  /** Each is granted under its own name. */
  readonly dirs?: readonly string[];
  /** Granted as `/`. */
  readonly root?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly exit_code?: number;
  readonly stdout?: string;
  readonly stderr?: string;
}

const KNOWN = new Set(['args', 'dirs', 'root', 'env', 'exit_code', 'stdout', 'stderr']);
/** What a test is about, and nothing to be held to: what a module needs, its imports say. */
const INFORMATIVE = new Set(['wasi_functions', 'proposals', 'world']);
const FUEL = 20_000_000_000n;

/**
 * The public wasi-testsuite (`*.wasm` below the directory, with `*.json` beside them), each module metered and run by the code
 * of a WASM host, in this process. Directories are copied into the guest's memory: nothing on disk is changed.
 */
export async function run(directory: string, tell: (line: string) => void = () => {}): Promise<SuiteResult> {
  const files = await modulesBelow(directory);
  const vectors = new Map(files.map((file) => [relative(directory, file), () => runModule(file)] as const));
  return runVectors('wasi', vectors, tell);
}

async function modulesBelow(directory: string): Promise<readonly string[]> {
  try {
    const found = await readdir(directory, { recursive: true, withFileTypes: true });
    const modules = found.filter((entry) => entry.isFile() && entry.name.endsWith('.wasm'));
    return modules.map(({ parentPath, name }) => join(parentPath, name)).toSorted();
  } catch (cause) {
    throw new ConformanceError('conformance.missing_directory', 'The directory cannot be read.', {
      fix: 'Give the directory of the public wasi-testsuite.',
      cause,
    });
  }
}

async function runModule(file: string): Promise<VectorOutcome> {
  const bytes = await readFile(file);
  const specification = await specificationOf(file);
  const metered = instrument(bytes);
  if (metered.kind === 'refused') return { kind: 'unsupported', why: metered.reason };
  const strange = Object.keys(specification).find((key) => !KNOWN.has(key) && !INFORMATIVE.has(key));
  if (strange !== undefined) return { kind: 'unsupported', why: `its specification asks for ${strange}` };
  const grants = { ...NO_GRANTS, now: true, random: true };
  const checked = checkGuest(describeModule(bytes), grants);
  if (checked.kind === 'refused') return { kind: 'unsupported', why: checked.outcome.message };
  const guest = createGuest(metered.bytes, {
    settings: {
      functions: checked.functions,
      stackSlots: Number(DEFAULT_STACK_SLOTS),
      outputBytes: DEFAULT_WASM_LIMITS.outputBytes,
      logBytes: DEFAULT_WASM_LIMITS.logBytes,
      hostCalls: 0,
      argv0: 'test.wasm',
      environment: specification.env ?? {},
      prefixes: await prefixesOf(file, specification),
      fileBytes: DEFAULT_WASM_LIMITS.fileBytes,
    },
    ask: () => ({ status: -3, body: new Uint8Array(0) }),
  });
  const input = new Uint8Array(0);
  const result = guest.run({ id: 1, handle: 1n, fuel: FUEL, args: specification.args ?? [], input });
  if (result.end !== 'completed')
    return { kind: 'failed', why: `${result.end}: ${result.message} ${result.log.toString()}`.trim() };
  return compared(specification, {
    exit_code: result.exitCode,
    stdout: result.output.toString(),
    stderr: result.log.toString(),
  });
}

type Ended = Required<Pick<Specification, 'exit_code' | 'stdout' | 'stderr'>>;

function compared(expected: Specification, found: Ended): VectorOutcome {
  const wanted = { ...expected, exit_code: expected.exit_code ?? 0 };
  for (const name of ['exit_code', 'stdout', 'stderr'] as const) {
    if (wanted[name] === undefined || wanted[name] === found[name]) continue;
    const said = name === 'exit_code' ? ` ${found.stderr.trim()}` : '';
    return {
      kind: 'failed',
      why: `${name} is ${JSON.stringify(found[name])}, not ${JSON.stringify(wanted[name])}.${said}`,
    };
  }
  return { kind: 'passed' };
}

async function specificationOf(file: string): Promise<Specification> {
  const text = await readFile(file.replace(/\.wasm$/, '.json'), 'utf8').catch(() => '{}');
  return JSON.parse(text) as Specification;
}

async function prefixesOf(file: string, { dirs = [], root }: Specification): Promise<readonly GrantedPrefix[]> {
  const below = join(file, '..');
  const named = [...(root === undefined ? [] : [['/', root] as const]), ...dirs.map((name) => [name, name] as const)];
  return Promise.all(
    named.map(async ([path, from]) => ({ path, access: 'write', entries: await entriesBelow(join(below, from)) })),
  );
}

async function entriesBelow(directory: string): Promise<readonly GrantedEntry[]> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  return Promise.all(
    found.map(async (entry): Promise<GrantedEntry> => {
      const from = join(entry.parentPath, entry.name);
      const path = relative(directory, from);
      if (entry.isDirectory()) return { kind: 'directory', path };
      if (entry.isSymbolicLink()) return { kind: 'link', path, target: await readlink(from) };
      return { kind: 'file', path, base64: (await readFile(from)).toString('base64') };
    }),
  );
}
