import { engine, type WasmGlobal, type WasmInstance, type WasmMemory, type WasmModule } from './engine.ts';
import { type Current, type GuestCall, GuestStop } from './guest-call.ts';
import { type GuestMemory, OutOfBounds, openMemory } from './guest-memory.ts';
import { type InstanceState, keepState } from './instance-state.ts';
import { PALYRA_MODULE, WASI_MODULE } from './known-imports.ts';
import type { AskedFunction, CallMessage, GuestEnd, GuestSettings, ResultMessage } from './messages.ts';
import { FUEL_EXPORT, GROWTH_EXPORT, MEMORY_EXPORT, STACK_EXPORT, START_EXPORT } from './meter-names.ts';
import { palyraImports } from './palyra-imports.ts';
import { createVirtualFiles } from './virtual-files.ts';
import { openDescriptors } from './wasi-descriptors.ts';
import { wasiImports } from './wasi-imports.ts';

/** A question to palyrad, and its answer. */
export type Ask = (
  call: Pick<CallMessage, 'id' | 'handle'>,
  name: AskedFunction,
  body: Uint8Array,
) => { readonly status: number; readonly body: Uint8Array };

export interface Guest {
  /** One call after the other. Whatever the guest does is a result. */
  run(call: CallMessage): ResultMessage;
  /** Whether instances are put back instead of made anew. */
  readonly isRestorable: boolean;
}

interface Running {
  readonly instance: WasmInstance;
  readonly current: Current;
  readonly memory: WasmMemory;
  readonly view: GuestMemory;
  readonly fuel: WasmGlobal;
  readonly stack: WasmGlobal;
  readonly growth: WasmGlobal;
  readonly state: InstanceState | undefined;
  isUsed: boolean;
}

/** Throws what V8 throws when the module cannot be compiled or linked. */
export function createGuest(
  bytes: Uint8Array,
  { settings, ask }: { readonly settings: GuestSettings; readonly ask: Ask },
): Guest {
  const module = new engine.Module(bytes);
  let kept: Running | undefined = start(module, settings);
  return {
    isRestorable: kept.state !== undefined,
    run(message) {
      const running = kept ?? start(module, settings);
      const reused = running.isUsed;
      running.isUsed = true;
      // SECURITY: T-27 — used again only when it ended well and could be put back: never after a trap, growth or failure.
      kept = undefined;
      const result = runOne(running, message, { settings, ask });
      if (result.end === 'completed' && running.state?.restore() === true) kept = running;
      return { ...result, reused };
    },
  };
}

function start(module: WasmModule, settings: GuestSettings): Running {
  const current: Current = { call: undefined };
  const imports = {
    [PALYRA_MODULE]: palyraImports(current, settings),
    [WASI_MODULE]: wasiImports(current, settings),
  };
  const instance = new engine.Instance(module, imports);
  const { exports } = instance;
  const memory = (exports[MEMORY_EXPORT] as WasmMemory | undefined) ?? new engine.Memory({ initial: 0, maximum: 0 });
  return {
    instance,
    current,
    memory,
    view: openMemory(memory),
    fuel: exports[FUEL_EXPORT] as WasmGlobal,
    stack: exports[STACK_EXPORT] as WasmGlobal,
    growth: exports[GROWTH_EXPORT] as WasmGlobal,
    state: keepState(instance),
    isUsed: false,
  };
}

interface Ended {
  readonly end: GuestEnd;
  readonly message: string;
  readonly exitCode: number;
}

const PAGE = 65_536;
const NOTHING = Buffer.alloc(0);

function runOne(
  running: Running,
  message: CallMessage,
  { settings, ask }: { readonly settings: GuestSettings; readonly ask: Ask },
): Omit<ResultMessage, 'reused'> {
  const { fuel, stack, growth, current } = running;
  const log = createSink(settings.logBytes);
  const printed = createSink(settings.outputBytes);
  let stopped: (Ended & { readonly left: bigint }) | undefined;
  const stop = (end: GuestEnd, text: string, exitCode = 0): never => {
    stopped ??= { end, message: text, exitCode, left: fuel.value as bigint };
    // SECURITY: T-27 — a guest may catch what is thrown through it: then it finds no fuel, and no host function.
    current.call = undefined;
    fuel.value = -1n;
    throw new GuestStop(text);
  };
  let ticks = 0n;
  const hasClock = settings.functions.includes('now');
  const now = () => {
    ticks += 1_000n;
    // SECURITY: T-27 — without the grant the times of files tell their order, and not the time.
    return hasClock ? BigInt(Date.now()) * 1_000_000n : ticks;
  };
  const files = createVirtualFiles({ prefixes: settings.prefixes, fileBytes: settings.fileBytes, now });
  const call: GuestCall = {
    id: message.id,
    handle: message.handle,
    input: message.input,
    args: message.args,
    memory: running.view,
    files,
    descriptors: openDescriptors(files),
    inputRead: 0,
    pending: NOTHING,
    hostCalls: 0,
    charge(bytes) {
      fuel.value = (fuel.value as bigint) - BigInt(bytes >>> 3);
    },
    print(bytes) {
      if (!printed.add(bytes)) stop('output_too_large', 'It put out more than it may.');
    },
    log: (bytes) => void log.add(bytes),
    stop,
    ask: (name, body) => ask(message, name, body),
  };
  fuel.value = message.fuel;
  stack.value = BigInt(settings.stackSlots);
  growth.value = 0;
  current.call = call;
  let ended: Ended;
  let output: Buffer = NOTHING;
  try {
    output = enter(running, call, { settings, printed });
    ended = wellEnded(running);
  } catch (error) {
    ended = stopped ?? whyEnded(error, running);
  } finally {
    current.call = undefined;
  }
  // A stop that the guest caught and came back from is a stop.
  if (stopped !== undefined) ended = stopped;
  const isWell = ended.end === 'completed';
  if (isWell && stopped !== undefined) output = printed.bytes();
  const left = stopped?.left ?? (fuel.value as bigint);
  return {
    id: message.id,
    end: ended.end,
    // After a trap of its own nobody knows what is left: all of it counts.
    fuelUsed: spentOf(message.fuel, isWell || stopped !== undefined ? left : 0n),
    hostCalls: call.hostCalls,
    exitCode: ended.exitCode,
    memoryPages: running.memory.buffer.byteLength / PAGE,
    log: log.bytes(),
    message: ended.message,
    output: isWell ? output : NOTHING,
  };
}

function spentOf(given: bigint, left: bigint): bigint {
  if (left < 0n) return given;
  return left > given ? 0n : given - left;
}

interface Entering {
  readonly settings: GuestSettings;
  readonly printed: Sink;
}

/** Start function, `_initialize` and the call itself, all under the fuel of this call. */
function enter({ instance, view }: Running, call: GuestCall, { settings, printed }: Entering): Buffer {
  const { exports } = instance;
  const named = (name: string) => {
    const found = exports[name];
    return typeof found === 'function' ? (found as (...args: unknown[]) => unknown) : undefined;
  };
  named(START_EXPORT)?.();
  named('_initialize')?.();
  const entry = named('palyra_call');
  if (entry === undefined) {
    const command = named('_start');
    if (command === undefined) return call.stop('invalid_module', 'It exports neither palyra_call nor _start.');
    command();
    return printed.bytes();
  }
  const allocate = named('palyra_alloc');
  if (allocate === undefined) return call.stop('invalid_module', 'It exports no palyra_alloc.');
  const { length } = call.input;
  const pointer = Number(allocate(length));
  view.write(pointer, call.input);
  call.charge(length);
  const packed = BigInt.asUintN(64, entry(BigInt.asIntN(64, call.handle), pointer, length) as bigint);
  const size = Number(packed & 0xffff_ffffn);
  // SECURITY: T-27 — compared before anything is set aside for it.
  if (size > settings.outputBytes) return call.stop('output_too_large', 'It put out more than it may.');
  call.charge(size);
  return Buffer.from(view.bytes(Number(packed >> 32n), size));
}

/** It returned; what it returned on credit counts as having run out. */
function wellEnded({ fuel }: Running): Ended {
  if ((fuel.value as bigint) >= 0n) return { end: 'completed', message: '', exitCode: 0 };
  return { end: 'fuel_exhausted', message: 'It used up its fuel.', exitCode: 0 };
}

function whyEnded(error: unknown, { fuel, stack, growth }: Running): Ended {
  if ((fuel.value as bigint) < 0n) return { end: 'fuel_exhausted', message: 'It used up its fuel.', exitCode: 0 };
  if ((stack.value as bigint) < 0n || error instanceof RangeError) {
    return { end: 'depth_exceeded', message: 'Its calls went deeper than they may.', exitCode: 0 };
  }
  if (growth.value === -1) {
    return { end: 'memory_exceeded', message: 'It asked for more memory than it may have, and gave up.', exitCode: 0 };
  }
  if (error instanceof OutOfBounds) return { end: 'trapped', message: error.message, exitCode: 0 };
  if (error instanceof engine.RuntimeError)
    return { end: 'trapped', message: `It trapped: ${error.message}.`, exitCode: 0 };
  if (error instanceof engine.Exception) {
    return { end: 'trapped', message: 'It threw an exception that nobody caught.', exitCode: 0 };
  }
  return { end: 'host_error', message: 'A host function failed.', exitCode: 0 };
}

interface Sink {
  /** False when it is more than there is room for; as much as fits is kept. */
  add(bytes: Uint8Array): boolean;
  bytes(): Buffer;
}

function createSink(most: number): Sink {
  const parts: Uint8Array[] = [];
  let held = 0;
  return {
    add(bytes) {
      const room = Math.max(0, most - held);
      const part = bytes.length > room ? bytes.subarray(0, room) : bytes;
      if (part.length > 0) parts.push(Uint8Array.from(part));
      held += part.length;
      return part.length === bytes.length;
    },
    bytes: () => Buffer.concat(parts, held),
  };
}
