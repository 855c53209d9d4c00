import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { engine, instrument, type Meter, openMeter, type WasmInstance } from '@palyra/wasm';

/** One program, plain and metered, each in an instance of its own. */
export interface Kernel {
  readonly name: string;
  plain(): unknown;
  metered(): unknown;
}

export interface Kernels {
  readonly kernels: readonly Kernel[];
  /** QuickJS as it came: what instrumentation is measured with. */
  readonly quickjs: Uint8Array;
}

const TEXTS = ['fib', 'matmul', 'quicksort', 'sha256', 'json'] as const;
/** QuickJS brings a memory that may grow to this. */
const LIMITS = { memoryPages: 32_768 };
const PLENTY = { fuel: 1n << 60n };

/** Throws when a metered program does not compute what the plain one does. */
export async function loadKernels(): Promise<Kernels> {
  const kernels: Kernel[] = [];
  for (const name of TEXTS) kernels.push(textKernel(name, await compile(name)));
  const quickjs = await readFile(fileURLToPath(import.meta.resolve('@jitl/quickjs-wasmfile-release-sync/wasm')));
  kernels.push(await scriptKernel(quickjs));
  for (const { name, plain, metered } of kernels) {
    if (plain() !== metered()) throw new Error(`${name} computes something else when it is metered.`);
  }
  return { kernels, quickjs };
}

interface Binaryen {
  readonly Features: { readonly All: number };
  setOptimizeLevel(level: number): void;
  setShrinkLevel(level: number): void;
  parseText(text: string): BinaryenModule;
}

interface BinaryenModule {
  setFeatures(features: number): void;
  optimize(): void;
  emitBinary(): Uint8Array;
  dispose(): void;
}

/** As a compiler would have left it: the texts are written for people. */
async function compile(name: string): Promise<Uint8Array> {
  const { default: binaryen } = (await import('binaryen')) as unknown as { readonly default: Binaryen };
  const text = await readFile(new URL(`wasm-kernels/${name}.wat`, import.meta.url), 'utf8');
  const module = binaryen.parseText(text);
  module.setFeatures(binaryen.Features.All);
  binaryen.setOptimizeLevel(2);
  binaryen.setShrinkLevel(0);
  module.optimize();
  const bytes = module.emitBinary();
  module.dispose();
  return bytes;
}

function textKernel(name: string, bytes: Uint8Array): Kernel {
  const plain = new engine.Instance(new engine.Module(bytes));
  const metered = new engine.Instance(new engine.Module(meteredBytes(bytes)));
  const meter = openMeter(metered);
  const run = (instance: WasmInstance) => instance.exports['run'] as () => unknown;
  const runMetered = run(metered);
  return {
    name,
    plain: run(plain),
    metered() {
      meter.give(PLENTY);
      return runMetered();
    },
  };
}

function meteredBytes(bytes: Uint8Array): Uint8Array {
  const result = instrument(bytes, LIMITS);
  if (result.kind === 'refused') throw new Error(result.reason);
  return result.bytes;
}

/** Emscripten's name for it. */
const ALLOCATE = '_malloc';

/** The part of Emscripten's module that we call. */
interface Emscripten {
  cwrap(name: string, returns: string | null, takes: readonly string[]): (...args: unknown[]) => number;
  lengthBytesUTF8(text: string): number;
  stringToUTF8(text: string, at: number, size: number): void;
  UTF8ToString(at: number): string;
  readonly [ALLOCATE]: (size: number) => number;
}

type Factory = (options: {
  instantiateWasm(imports: never, done: (instance: WasmInstance) => void): object;
}) => Promise<Emscripten>;

async function scriptKernel(bytes: Uint8Array): Promise<Kernel> {
  const script = readFileSync(new URL('wasm-kernels/quickjs-script.js', import.meta.url), 'utf8');
  const plain = await startQuickjs(bytes, { isMetered: false });
  const metered = await startQuickjs(meteredBytes(bytes), { isMetered: true });
  return { name: 'quickjs', plain: () => plain(script), metered: () => metered(script) };
}

async function startQuickjs(bytes: Uint8Array, { isMetered }: { readonly isMetered: boolean }) {
  let meter: Meter | undefined;
  const { default: start } = (await import('@jitl/quickjs-wasmfile-release-sync/emscripten-module')) as unknown as {
    readonly default: Factory;
  };
  const quickjs = await start({
    instantiateWasm(imports, done) {
      const instance = new engine.Instance(new engine.Module(bytes), imports);
      if (isMetered) meter = openMeter(instance);
      meter?.give(PLENTY);
      done(instance);
      return instance.exports;
    },
  });
  const runtime = quickjs.cwrap('QTS_NewRuntime', 'number', [])();
  const context = quickjs.cwrap('QTS_NewContext', 'number', ['number', 'number'])(runtime, 0);
  const evaluate = quickjs.cwrap('QTS_Eval', 'number', ['number', 'number', 'number', 'string', 'number', 'number']);
  const textOf = quickjs.cwrap('QTS_GetString', 'number', ['number', 'number']);
  const freeText = quickjs.cwrap('QTS_FreeCString', null, ['number', 'number']);
  const freeValue = quickjs.cwrap('QTS_FreeValuePointer', null, ['number', 'number']);
  let scriptAt: number | undefined;
  return (script: string): string => {
    meter?.give(PLENTY);
    const length = quickjs.lengthBytesUTF8(script);
    scriptAt ??= quickjs[ALLOCATE](length + 1);
    quickjs.stringToUTF8(script, scriptAt, length + 1);
    const value = evaluate(context, scriptAt, length, 'script.js', 0, 0);
    const text = textOf(context, value);
    const result = quickjs.UTF8ToString(text);
    freeText(context, text);
    freeValue(context, value);
    return result;
  };
}
