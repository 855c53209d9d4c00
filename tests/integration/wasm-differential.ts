import { createHash } from 'node:crypto';
import { engine, instrument, type Meter, openMeter, RESERVED_PREFIX, type WasmInstance } from '@palyra/wasm';

/** Everything that can be seen of one run of a module: each call in turn, what the host was told, and what is left in memory. */
export interface Observed {
  readonly calls: readonly string[];
  readonly told: readonly string[];
  readonly memory: string;
}

export interface MeteredRun extends Observed {
  readonly used: bigint;
  readonly spent: ReturnType<Meter['spent']>;
  readonly instance: WasmInstance;
}

/** The guest's imports, made anew for each run, with what they were told. */
export type MakeHost = (
  told: string[],
  instance: () => WasmInstance,
) => Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface GuestPlay {
  readonly bytes: Uint8Array;
  readonly host: MakeHost;
  /** Exports in the order they are called, each with its arguments. */
  readonly calls: readonly { readonly name: string; readonly args: readonly unknown[] }[];
}

export function playPlain(play: GuestPlay): Observed {
  const told: string[] = [];
  let instance: WasmInstance | undefined;
  const imports = play.host(told, () => instance as WasmInstance);
  try {
    instance = new engine.Instance(new engine.Module(play.bytes), imports);
  } catch (error) {
    return { calls: [ending(error)], told, memory: '' };
  }
  const { exports } = instance;
  const calls = play.calls.map((call) => attempt(exports, call));
  return { calls, told, memory: memoryDigest(exports) };
}

const PLENTY = 1n << 60n;

/** With all the fuel there is, or with so much for all calls together. */
export function playMetered(play: GuestPlay, fuel: bigint = PLENTY): MeteredRun {
  const metered = instrument(play.bytes, { memoryPages: 65_536, tableElements: 10_000_000 });
  if (metered.kind === 'refused') throw new Error(`${metered.code}: ${metered.reason}`);
  const told: string[] = [];
  let made: WasmInstance | undefined;
  const instance = new engine.Instance(
    new engine.Module(metered.bytes),
    play.host(told, () => made as WasmInstance),
  );
  made = instance;
  const meter = openMeter(instance);
  meter.give({ fuel, stack: 50_000n });
  const { exports } = instance;
  const first = meter.start === undefined ? [] : [started(meter.start)];
  if (first.some((end) => end !== 'returned')) {
    return { calls: first, told, memory: '', used: fuel - meter.left(), spent: meter.spent(), instance };
  }
  const calls: string[] = [];
  for (const call of play.calls) {
    if (meter.spent() === 'fuel') break;
    // Only the stack anew: the fuel is for all.
    meter.give({ fuel: meter.left(), stack: 50_000n });
    calls.push(attempt(exports, call));
  }
  return { calls, told, memory: memoryDigest(exports), used: fuel - meter.left(), spent: meter.spent(), instance };
}

function started(start: () => void): string {
  try {
    start();
    return 'returned';
  } catch (error) {
    return ending(error);
  }
}

function attempt(exports: WasmInstance['exports'], call: GuestPlay['calls'][number]): string {
  try {
    const result = (exports[call.name] as (...args: unknown[]) => unknown)(...call.args);
    return `${call.name}: ${shown(result)}`;
  } catch (error) {
    return `${call.name}: ${ending(error)}`;
  }
}

function ending(error: unknown): string {
  if (error instanceof engine.Exception) return 'thrown';
  if (error instanceof Error) return `${error.name} ${error.message}`;
  return 'thrown something';
}

function shown(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return value.map(shown).join();
  return Object.is(value, -0) ? '-0' : String(value);
}

function memoryDigest(exports: WasmInstance['exports']): string {
  // The guest's own names: the meter exports the memory a second time.
  const own = Object.entries(exports).filter(([name]) => !name.startsWith(RESERVED_PREFIX));
  const memories = own.map(([, value]) => value).filter((value) => value instanceof engine.Memory);
  const hash = createHash('sha256');
  for (const { buffer } of memories) hash.update(new Uint8Array(buffer));
  return hash.digest('hex');
}
