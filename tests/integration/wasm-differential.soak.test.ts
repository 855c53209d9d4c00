import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describeModule, engine, instrument, type WasmGlobal } from '@palyra/wasm';
import { expect, test } from 'vitest';
import { assembleText } from '../metered-guest.ts';
import { type GuestPlay, type MakeHost, type MeteredRun, playMetered, playPlain } from './wasm-differential.ts';
import { generateGuest } from './wasm-generated-guests.ts';

const isWhole = process.env['PALYRA_SOAK'] === '1';
const OWN = isWhole ? 3_000 : 150;
const BINARYEN = isWhole ? 60 : 4;

const logging: MakeHost = (told) => ({ host: { log: (value: number) => told.push(String(value)) } });

async function ownPlay(seed: number): Promise<GuestPlay> {
  const { text, exports } = generateGuest(seed);
  const calls = exports.flatMap((name, index) => [
    { name, args: [index, seed % 97] },
    { name, args: [-1, 3] },
  ]);
  return { bytes: await assembleText(text), host: logging, calls };
}

function expectExact(play: GuestPlay, { used, instance }: MeteredRun, seed: number): void {
  // Every statement adds to a counter of the guest's own, with four instructions: none of them was free.
  const steps = BigInt((instance.exports['steps'] as WasmGlobal).value as number);
  expect({ seed, paid: used >= 4n * steps }).toEqual({ seed, paid: true });
  // With just enough it is the same, and with one less it is over.
  const enough = playMetered(play, used);
  expect({ seed, used: enough.used, spent: enough.spent }).toEqual({ seed, used, spent: 'nothing' });
  expect({ seed, spent: playMetered(play, used - 1n).spent }).toEqual({ seed, spent: 'fuel' });
}

test('guests that we make up do the same plain and metered, and their fuel is exact', async () => {
  let [fuel, stopped, exact] = [0n, 0, 0];
  for (let seed = 1; seed <= OWN; seed += 1) {
    const play = await ownPlay(seed);
    const plain = playPlain(play);
    const whole = playMetered(play);
    const { calls, told, memory, used } = whole;
    expect({ seed, calls, told, memory }).toEqual({ seed, ...plain });

    fuel += used;
    // After a trap of the guest's own the counter is what was last written back, so there it only says that no more is left.
    if (!calls.some((end) => end.includes('RuntimeError'))) {
      expectExact(play, whole, seed);
      exact += 1;
    }
    // With half it stops at the same place twice.
    const [once, twice] = [playMetered(play, used / 2n), playMetered(play, used / 2n)];
    expect({ ...once, instance: seed }).toEqual({ ...twice, instance: seed });
    expect({ seed, told: once.told }).toEqual({ seed, told: told.slice(0, once.told.length) });
    if (once.spent === 'fuel') stopped += 1;
  }
  console.info(`${OWN} guests, ${fuel} fuel, ${exact} without a trap, ${stopped} stopped half way`);
  expect(Math.min(stopped, exact)).toBeGreaterThan(OWN / 5);
});

const binaryenDirectory = dirname(createRequire(import.meta.url).resolve('binaryen'));
const FEATURES = [
  'simd',
  'bulk-memory',
  'reference-types',
  'multivalue',
  'exception-handling',
  'sign-ext',
  'nontrapping-float-to-int',
  'mutable-globals',
  'extended-const',
];

/** A module of binaryen's fuzzer, from random bytes that the seed gives. */
async function binaryenGuest(seed: number, directory: string): Promise<Uint8Array> {
  const [input, output] = [join(directory, 'input'), join(directory, 'output.wasm')];
  const bytes = new Uint8Array(6_000);
  for (let index = 0, state = seed; index < bytes.length; index += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = state >>> 24;
  }
  await writeFile(input, bytes);
  const program = join(binaryenDirectory, 'bin', 'wasm-opt');
  // Without NaNs, whose bits the meter makes all the same and V8 does not.
  const how = ['--denan', '--disable-gc', ...FEATURES.map((name) => `--enable-${name}`)];
  await promisify(execFile)(process.execPath, [program, input, '-ttf', '-o', output, ...how]);
  return readFile(output);
}

/** What binaryen's fuzzer imports: logs, and ways back into the guest. */
function fuzzingSupport(): MakeHost {
  return (told, instance) => {
    const log = (value: unknown) => void told.push(String(value));
    const table = () =>
      instance().exports['table'] as { get(index: number): unknown; set(index: number, value: unknown): void };
    const functions = () => Object.values(instance().exports).filter((value) => typeof value === 'function');
    const caught = (act: () => void): number => {
      try {
        act();
        return 0;
      } catch (error) {
        // A trap is a trap, however it is reached; V8 would hand it to the guest only as the error that it is.
        if (error instanceof engine.RuntimeError || error instanceof RangeError) throw error;
        return 1;
      }
    };
    const support: Record<string, unknown> = {
      'log-i32': log,
      'log-i64': log,
      'log-f32': log,
      'log-f64': log,
      'table-get': (index: number) => table().get(index >>> 0),
      'table-set': (index: number, value: unknown) => table().set(index >>> 0, value),
      'call-export': (index: number) => (functions()[index] as (() => void) | undefined)?.(),
      'call-export-catch': (index: number) => caught(() => (functions()[index] as (() => void) | undefined)?.()),
      'call-ref': (callee: () => void) => callee(),
      'call-ref-catch': (callee: () => void) => caught(() => callee()),
      throw: () => {
        throw new Error('thrown by the host');
      },
    };
    const something = new engine.Global({ value: 'externref', mutable: false }, 'something of the host');
    const anything = new Proxy(support, {
      get: (all, name) => all[String(name)] ?? (String(name).startsWith('extern$') ? something : () => 0),
    });
    return new Proxy({}, { get: () => anything });
  };
}

test("modules of binaryen's fuzzer do the same plain and metered", async () => {
  const directory = await mkdtemp(join(tmpdir(), 'palyra-wasm-fuzz-'));
  try {
    let calls = 0;
    for (let seed = 1; seed <= BINARYEN; seed += 1) {
      const bytes = await binaryenGuest(seed, directory);
      const result = instrument(bytes, { memoryPages: 65_536, tableElements: 10_000_000 });
      if (result.kind === 'refused' && result.code === 'wasm.unsupported') continue;
      const { imports, exports } = describeModule(bytes);
      if (imports.some(({ kind, name }) => kind !== 'function' && !name.startsWith('extern$'))) continue;
      const names = exports.filter(({ kind }) => kind === 'function').map(({ name }) => name);
      const play: GuestPlay = {
        bytes,
        host: fuzzingSupport(),
        calls: names.map((name) => ({ name, args: [1, 2, 3] })),
      };
      const plain = playPlain(play);
      const { calls: ends, told, memory } = playMetered(play);
      expect({ seed, calls: ends, told, memory }).toEqual({ seed, ...plain });
      calls += ends.length;
    }
    console.info(`${BINARYEN} modules, ${calls} calls`);
    expect(calls).toBeGreaterThan(0);
  } finally {
    await rm(directory, { recursive: true });
  }
});
