import { engine, type WasmGlobal, type WasmInstance } from './host/engine.ts';
import { FUEL_EXPORT, STACK_EXPORT, START_EXPORT } from './host/meter-names.ts';
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
  /** Sets both counters: before each call from outside, and never from within a call of the guest. Throws `WasmError` for what no counter holds. */
  give(budget: MeterBudget): void;
  /** Takes fuel for what a host function does; the guest is stopped at its next look when too little is left. Throws `WasmError` for what no counter holds. */
  take(fuel: bigint): void;
  /** Exact after a call that returned, threw or ran out. After a trap of the guest's own it is what was last written back: no more is left. */
  left(): bigint;
  /** After a call, whether it returned or trapped. A call that ends below zero has used up its fuel, even if it returned. */
  spent(): Spent;
  /** What the module wants run first, if anything; under the fuel that was given. */
  readonly start: (() => void) | undefined;
}

/** Half a megabyte as we count, for which V8 may need up to sixteen times as much: see `GUEST_STACK_MIB`. */
export const DEFAULT_STACK_SLOTS = 64_000n;

/** Throws `WasmError` when the instance is not of a module that `instrument` made. */
export function openMeter({ exports }: WasmInstance): Meter {
  const fuel = counterIn(exports, FUEL_EXPORT);
  const stack = counterIn(exports, STACK_EXPORT);
  const start = exports[START_EXPORT];
  return {
    give(budget) {
      const slots = budget.stack ?? DEFAULT_STACK_SLOTS;
      // SECURITY: T-26 — a counter of 64 bits would keep the rest of a larger number, whatever its sign.
      if (!isCountable(budget.fuel) || !isCountable(slots)) throw uncountable();
      fuel.value = budget.fuel;
      stack.value = slots;
    },
    take(amount) {
      if (amount < 0n || amount > (fuel.value as bigint) - LEAST) throw uncountable();
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

const MOST = (1n << 63n) - 1n;
/** Far below zero, and far from where a few charges more would make it positive again. */
const LEAST = -(1n << 62n);

function isCountable(amount: bigint): boolean {
  return amount >= 0n && amount <= MOST;
}

function uncountable(): WasmError {
  return new WasmError('wasm.bad_limits', 'The budget or what is taken from it is no amount.', {
    fix: `Give a whole number from 0 to ${MOST}.`,
  });
}

function counterIn(exports: WasmInstance['exports'], name: string): WasmGlobal {
  const counter = exports[name];
  if (counter instanceof engine.Global) return counter;
  throw new WasmError('wasm.instrumentation_failed', 'The instance has no meter.', {
    fix: 'Instantiate the bytes that instrument() gave.',
  });
}
