import { createInstrumenter } from '@palyra/wasm';
import { type Contender, defineBenchmark, type Workload } from './harness.ts';
import { type Kernel, type Kernels, loadKernels } from './wasm-kernels.ts';

const NAMES = ['fib', 'matmul', 'quicksort', 'sha256', 'json', 'quickjs'] as const;

/**
 * What metering costs. A sample of a kernel is the time of the metered program divided by that of the plain one, both
 * run in the same operation and in turn first; `plain` does the same with the plain program twice, and shows the noise.
 * A sample of `instrument` is the time that QuickJS's module takes on the thread; its `per_s` are megabytes.
 */
export default defineBenchmark<Kernels>({
  name: 'wasm-meter',
  description: 'What fuel metering costs WebAssembly at run time, and how fast modules are instrumented',
  baseline: 'plain',
  ratioOf: 'p50_ms',
  defaults: { rounds: 7, seconds: 3 },
  setup: loadKernels,
  contenders: [
    { name: 'plain', prepare: ({ kernels }) => quotient(kernelNamed(kernels, 'fib'), 'plain') },
    ...NAMES.map(
      (name): Contender<Kernels> => ({
        name,
        prepare: ({ kernels }) => quotient(kernelNamed(kernels, name), 'metered'),
      }),
    ),
    { name: 'geomean', prepare: ({ kernels }) => geometricMean(kernels) },
    { name: 'instrument', prepare: ({ quickjs }) => instrumenting(quickjs) },
  ],
});

function kernelNamed(kernels: readonly Kernel[], name: string): Kernel {
  const found = kernels.find((kernel) => kernel.name === name);
  if (found === undefined) throw new Error(`There is no kernel ${name}.`);
  return found;
}

function quotient(kernel: Kernel, numerator: 'plain' | 'metered'): Workload {
  return { sample: 'result', operation: (index) => compared(kernel, numerator, index) };
}

/** Whoever runs first finds other caches and another frequency, so they take turns. */
function compared(kernel: Kernel, numerator: 'plain' | 'metered', index: number): number {
  if (index % 2 === 0) {
    const plain = timed(kernel.plain);
    return timed(kernel[numerator]) / plain;
  }
  const other = timed(kernel[numerator]);
  return other / timed(kernel.plain);
}

function geometricMean(kernels: readonly Kernel[]): Workload {
  return {
    sample: 'result',
    operation: (index) => {
      const logarithms = kernels.map((kernel) => Math.log(compared(kernel, 'metered', index)));
      return Math.exp(logarithms.reduce((sum, logarithm) => sum + logarithm, 0) / logarithms.length);
    },
  };
}

function instrumenting(module: Uint8Array): Workload {
  const instrumenter = createInstrumenter();
  return {
    things: module.length / 1e6,
    async operation() {
      const result = await instrumenter.instrument(module);
      if (result.kind === 'refused') throw new Error(result.reason);
    },
    close: () => instrumenter.close(),
  };
}

function timed(act: () => unknown): number {
  const start = performance.now();
  act();
  return performance.now() - start;
}
