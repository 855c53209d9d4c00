import { engine, type WasmGlobal, type WasmInstance } from './engine.ts';
import { FUEL_EXPORT, STACK_EXPORT, START_EXPORT } from './meter-names.ts';
import { WasmError } from './wasm-error.ts';

export interface MeterBudget {
  readonly fuel: bigint;
  /** Slots of eight bytes; `DEFAULT_STACK_SLOTS` unless told. */
  readonly stack?: bigint;
}

/** Which budget a call has used up. */
export type Spent = 'fuel' | 'stack' | 'nothing';

/** The counters of one instance. */
export interface Meter {
  /** Sets both counters: before each call from outside, and never from within a call of the guest. */
  give(budget: MeterBudget): void;
  /** Takes fuel for what a host function does; the guest is stopped at its next look when too little is left. */
  take(fuel: bigint): void;
  /** Exact after a call that returned, threw or ran out. After a trap of the guest's own it is what was last written back: no more is left. */
  left(): bigint;
  /** After a call, whether it returned or trapped. A call that ends below zero has used up its fuel, even if it returned. */
  spent(): Spent;
  /** What the module wants run first, if anything; under the fuel that was given. */
  readonly start: (() => void) | undefined;
}

/**
 * Half of what V8 has by default (984 KiB), so that ours is always the limit that is met: where V8's is depends on
 * machine and compiler.
 */
export const DEFAULT_STACK_SLOTS = 64_000n;

/** Throws `WasmError` when the instance is not of a module that `instrument` made. */
export function openMeter({ exports }: WasmInstance): Meter {
  const fuel = counterIn(exports, FUEL_EXPORT);
  const stack = counterIn(exports, STACK_EXPORT);
  const start = exports[START_EXPORT];
  return {
    give(budget) {
      fuel.value = budget.fuel;
      stack.value = budget.stack ?? DEFAULT_STACK_SLOTS;
    },
    take(amount) {
      fuel.value = (fuel.value as bigint) - amount;
    },
    left: () => fuel.value as bigint,
    spent() {
      if ((fuel.value as bigint) < 0n) return 'fuel';
      return (stack.value as bigint) < 0n ? 'stack' : 'nothing';
    },
    start: typeof start === 'function' ? (start as () => void) : undefined,
  };
}

function counterIn(exports: WasmInstance['exports'], name: string): WasmGlobal {
  const counter = exports[name];
  if (counter instanceof engine.Global) return counter;
  throw new WasmError('wasm.instrumentation_failed', 'The instance has no meter.', {
    fix: 'Instantiate the bytes that instrument() gave.',
  });
}
