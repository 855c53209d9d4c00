import {
  describeModule,
  engine,
  type FunctionSignature,
  type Meter,
  openMeter,
  type WasmGlobal,
  type WasmInstance,
} from '@palyra/wasm';
import { bridgeTo, type ExactCall } from './call-bridge.ts';
import type { Outcome } from './outcomes.ts';
import type { WastValue } from './values.ts';

/** One instance of a script. */
export interface Actor {
  readonly instance: WasmInstance;
  readonly signatures: ReadonlyMap<string, FunctionSignature>;
  readonly bridges: Map<string, ExactCall | undefined>;
}

/** Everything that one run of a script has made: the same script runs in two of them. */
export interface World {
  readonly isMetered: boolean;
  readonly registered: Map<string, WasmInstance['exports']>;
  readonly meters: Meter[];
}

export type Made =
  | { readonly kind: 'made'; readonly actor: Actor }
  | { readonly kind: 'failed'; readonly outcome: Outcome };

/** More than any test can use. */
const PLENTY = 1n << 61n;

export function createWorld({ isMetered }: { readonly isMetered: boolean }): World {
  return { isMetered, registered: new Map([['spectest', spectest()]]), meters: [] };
}

/** `bytes` are those of the module for a plain world, and the metered ones for the other. */
export function makeActor(world: World, bytes: Uint8Array): Made {
  let actor: Actor | undefined;
  const outcome = observe(world, () => {
    const instance = new engine.Instance(new engine.Module(bytes), Object.fromEntries(world.registered));
    if (world.isMetered) {
      const meter = openMeter(instance);
      world.meters.push(meter);
      meter.give({ fuel: PLENTY });
      meter.start?.();
    }
    actor = { instance, signatures: signaturesOf(bytes), bridges: new Map() };
    return [];
  });
  return actor === undefined || outcome.kind !== 'returned' ? { kind: 'failed', outcome } : { kind: 'made', actor };
}

export function invoke(
  world: World,
  actor: Actor,
  call: { readonly name: string; readonly args: readonly WastValue[] },
): Outcome {
  return observe(world, () => {
    const target = actor.instance.exports[call.name];
    const signature = actor.signatures.get(call.name);
    if (typeof target !== 'function' || signature === undefined) throw new TypeError('There is no such function.');
    const bridge = actor.bridges.has(call.name) ? actor.bridges.get(call.name) : bridgeTo(target, signature);
    actor.bridges.set(call.name, bridge);
    return bridge === undefined ? callPlainly(target as Call, call.args) : bridge(call.args);
  });
}

export function readGlobal(world: World, actor: Actor, name: string): Outcome {
  return observe(world, () => {
    const { value } = actor.instance.exports[name] as WasmGlobal;
    return [{ kind: 'reference', value }];
  });
}

type Call = (...args: readonly unknown[]) => unknown;

/** Types that only the module can name: references in and out, integers beside them. */
function callPlainly(target: Call, args: readonly WastValue[]): readonly WastValue[] {
  const plain = args.map((arg) => {
    if (arg.kind === 'reference') return arg.value;
    return arg.type === 'i64' ? arg.bits : Number(arg.bits);
  });
  const returned = target(...plain);
  if (returned === undefined) return [];
  const values = Array.isArray(returned) ? (returned as readonly unknown[]) : [returned];
  return values.map((value): WastValue => {
    if (typeof value === 'bigint') return { kind: 'bits', type: 'i64', bits: BigInt.asUintN(64, value) };
    if (typeof value !== 'number') return { kind: 'reference', value };
    return { kind: 'bits', type: 'i32', bits: BigInt.asUintN(32, BigInt(Math.trunc(value))) };
  });
}

function observe(world: World, act: () => readonly WastValue[]): Outcome {
  for (const meter of world.meters) meter.give({ fuel: PLENTY });
  try {
    return { kind: 'returned', values: act() };
  } catch (error) {
    return outcomeOf(world, error);
  }
}

function outcomeOf(world: World, error: unknown): Outcome {
  if (world.meters.some((meter) => meter.spent() === 'stack') || error instanceof RangeError)
    return { kind: 'exhausted' };
  if (error instanceof engine.RuntimeError) return { kind: 'trapped', message: error.message };
  if (error instanceof engine.Exception) return { kind: 'thrown' };
  if (error instanceof engine.LinkError) return { kind: 'unlinkable' };
  // A missing import is a TypeError of V8's; a value that JavaScript cannot hold is one too.
  if (error instanceof TypeError) return { kind: /Import/.test(error.message) ? 'unlinkable' : 'uncallable' };
  throw error;
}

function signaturesOf(bytes: Uint8Array): ReadonlyMap<string, FunctionSignature> {
  const { exports } = describeModule(bytes, { moduleBytes: bytes.length, sections: 10_000 });
  return new Map(
    exports.flatMap(({ name, signature }) => (signature === undefined ? [] : [[name, signature] as const])),
  );
}

/** The module that every script may import from. */
function spectest(): WasmInstance['exports'] {
  const print = (): void => {};
  const constant = (value: string, content: unknown) => new engine.Global({ value, mutable: false }, content);
  return {
    print,
    print_i32: print,
    print_i64: print,
    print_f32: print,
    print_f64: print,
    print_i32_f32: print,
    print_f64_f64: print,
    global_i32: constant('i32', 666),
    global_i64: constant('i64', 666n),
    global_f32: constant('f32', 666.6),
    global_f64: constant('f64', 666.6),
    table: new engine.Table({ initial: 10, maximum: 20, element: 'anyfunc' }),
    memory: new engine.Memory({ initial: 1, maximum: 2 }),
  };
}
