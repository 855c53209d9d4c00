import { randomFillSync } from 'node:crypto';
import { type Clock, type Sha256Hex, sha256Hex, sha256OfJson } from '@palyra/primitives';
import { checkGuest, type GuestAbi } from './check-guest.ts';
import { describeModule } from './describe-module.ts';
import { ANSWER, type AskedFunction, type GuestSettings } from './host/messages.ts';
import { createHostLanes, type LaneEnd, type LaneOrder } from './host-lanes.ts';
import type { StartHost } from './host-process.ts';
import type { HostAnswer, HostSession } from './host-session.ts';
import type { InstrumentResult } from './instrument.ts';
import { DEFAULT_LANE_LIMITS, type LaneLimits } from './lane-limits.ts';
import type { ModuleLimits } from './limits.ts';
import { DEFAULT_STACK_SLOTS } from './meter.ts';
import { outcomeOf } from './outcome-of.ts';
import { WasmError } from './wasm-error.ts';
import type { WasmGrants } from './wasm-grants.ts';
import { DEFAULT_WASM_LIMITS, type WasmLimits } from './wasm-limits.ts';
import { failedBefore, NOTHING_SPENT, type WasmFailureKind, type WasmOutcome } from './wasm-outcome.ts';

/** A module as it came, with what it may reach and use. */
export interface WasmProgram {
  readonly bytes: Uint8Array;
  readonly grants: WasmGrants;
  /** What is not said is the runtime's own. */
  readonly limits?: Partial<WasmLimits>;
  /** What a WASI command finds as the name of the program. */
  readonly name: string;
}

/** Metered and checked: it can be called. */
export interface PreparedProgram {
  readonly kind: 'prepared';
  /** Of the module as it came. */
  readonly digest: Sha256Hex;
  readonly abi: GuestAbi;
  /** Of our host functions, those that are linked; `log` always is. */
  readonly functions: readonly string[];
  readonly limits: WasmLimits;
  readonly lane: Omit<LaneOrder, 'key'>;
}

export interface WasmCall {
  /** Hosts are never shared between two. */
  readonly principal: string;
  readonly input: Uint8Array;
  /** Of a WASI command. */
  readonly args?: readonly string[];
  readonly fuel?: number;
  readonly signal?: AbortSignal;
  /** Answers host calls that are granted and leave the host; one that throws is answered with `failed`. */
  answer?(name: AskedFunction, body: Buffer, over: AbortSignal): Promise<HostAnswer>;
}

export interface WasmRuntime<About> {
  /** Refusals are values: `disabled`, `invalid_module`, `capability_denied`, `memory_exceeded`, `timed_out`. Runs nothing. */
  prepare(program: WasmProgram): Promise<PreparedProgram | Extract<WasmOutcome<About>, { kind: 'failed' }>>;
  /** Everything that can happen is a value. */
  call(program: PreparedProgram, call: WasmCall): Promise<WasmOutcome<About>>;
  /** Host processes there are. */
  hosts(): number;
  close(): Promise<void>;
}

export interface WasmRuntimeDeps<About> {
  readonly startHost: StartHost<About>;
  /** `createInstrumenter().instrument`, or a cache before it. */
  instrument(bytes: Uint8Array, limits: Partial<ModuleLimits>): Promise<InstrumentResult>;
  readonly clock: Clock;
  readonly enabled?: boolean;
  readonly limits?: Partial<WasmLimits>;
  readonly lanes?: Partial<LaneLimits>;
}

export function createWasmRuntime<About>(deps: WasmRuntimeDeps<About>): WasmRuntime<About> {
  const { startHost, clock, enabled = true } = deps;
  const limits = { ...DEFAULT_WASM_LIMITS, ...deps.limits };
  const lanes = createHostLanes({ startHost, clock, limits: { ...DEFAULT_LANE_LIMITS, ...deps.lanes } });
  const handles = createHandles();
  /** What metering took, until the first call of it has paid. */
  const metering = new WeakMap<PreparedProgram, number>();
  return {
    hosts: lanes.size,
    close: () => lanes.close(),
    async prepare(program) {
      if (!enabled) return failedBefore('disabled', undefined, 'Set `enabled` of [wasm_runtime] in palyra.toml.');
      const began = clock.now();
      const prepared = await prepare(program, { limits: { ...limits, ...program.limits }, deps });
      if (prepared.kind === 'prepared') metering.set(prepared, Math.max(0, clock.now() - began));
      return prepared;
    },
    call(program, call) {
      if (!enabled) return Promise.resolve(failedBefore('disabled'));
      const order = orderOf(program, call.principal);
      const fuel = Math.min(call.fuel ?? program.limits.fuel, program.limits.fuel);
      const budgetMs = program.limits.wallMs - (metering.get(program) ?? 0);
      metering.delete(program);
      const given = { program, call, fuel, budgetMs, handle: handles(), lanes, clock };
      return new Promise((resolve) => runOne(order, { ...given, resolve }));
    },
  };
}

const orders = new WeakMap<PreparedProgram, Map<string, LaneOrder>>();

/** SECURITY: T-56 — whose it is, and everything that a host was given at its start, is in its key. */
function orderOf(program: PreparedProgram, principal: string): LaneOrder {
  const known = orders.get(program) ?? new Map<string, LaneOrder>();
  orders.set(program, known);
  const order = known.get(principal);
  if (order !== undefined) return order;
  const { module: _, ...given } = program.lane;
  const key = sha256OfJson({ principal, module: program.digest, given: JSON.stringify(given) });
  const made = { ...program.lane, key };
  known.set(principal, made);
  return made;
}

interface Preparing {
  readonly limits: WasmLimits;
  readonly deps: Pick<WasmRuntimeDeps<never>, 'instrument' | 'clock'>;
}

async function prepare(
  { bytes, grants, name }: WasmProgram,
  { limits, deps }: Preparing,
): Promise<PreparedProgram | Extract<WasmOutcome<never>, { kind: 'failed' }>> {
  const { moduleBytes, memoryPages, tableElements } = limits;
  const stop = new AbortController();
  // SECURITY: T-26 — what compiles for longer than it may run is not waited for.
  const slow = deps.clock.sleep(limits.wallMs, stop.signal).then(
    () => 'slow' as const,
    () => 'slow' as const,
  );
  const metered = await Promise.race([deps.instrument(bytes, { moduleBytes, memoryPages, tableElements }), slow]);
  stop.abort();
  if (metered === 'slow') return failedBefore('timed_out', 'Metering the module took longer than a call may.');
  if (metered.kind === 'refused') return notMetered(metered);
  const checked = checkImports(bytes, grants);
  if (checked.kind === 'refused') return checked.outcome;
  const { abi, functions } = checked;
  const settings: GuestSettings = {
    functions,
    stackSlots: Number(DEFAULT_STACK_SLOTS),
    outputBytes: limits.outputBytes,
    logBytes: limits.logBytes,
    hostCalls: limits.hostCalls,
    argv0: name,
    environment: grants.environment,
    prefixes: grants.prefixes,
    fileBytes: limits.fileBytes,
  };
  const isQueued = functions.every((each) => each === 'now' || each === 'random');
  const lane = {
    module: metered.bytes,
    settings,
    memoryBytes: memoryPages * PAGE,
    wallMs: limits.wallMs,
    isQueued,
  };
  return { kind: 'prepared', digest: sha256Hex(bytes), abi, functions, limits, lane };
}

const PAGE = 65_536;

function checkImports(bytes: Uint8Array, grants: WasmGrants): ReturnType<typeof checkGuest> {
  try {
    return checkGuest(describeModule(bytes), grants);
  } catch (error) {
    if (!(error instanceof WasmError)) throw error;
    return { kind: 'refused', outcome: failedBefore('invalid_module', error.message, error.fix) };
  }
}

function notMetered({ code, reason, fix }: Extract<InstrumentResult, { kind: 'refused' }>) {
  const failure: WasmFailureKind = reason.startsWith('Pages of memory') ? 'memory_exceeded' : 'invalid_module';
  return failedBefore(code === 'wasm.instrumentation_failed' ? 'host_error' : failure, reason, fix);
}

interface One<About> {
  readonly program: PreparedProgram;
  readonly call: WasmCall;
  readonly fuel: number;
  readonly budgetMs: number;
  readonly handle: bigint;
  readonly lanes: ReturnType<typeof createHostLanes<About>>;
  readonly clock: Clock;
  resolve(outcome: WasmOutcome<About>): void;
}

function runOne<About>(order: LaneOrder, one: One<About>): void {
  const { program, call, fuel, handle, budgetMs, clock } = one;
  const { limits, functions } = program;
  const asked: { function: string; status: number }[] = [];
  let session: HostSession<About> | undefined;
  let begunAt: number | undefined;
  let leftMs = budgetMs;
  let why: 'late' | 'cancelled' | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Made when something is first asked: to make and abort one takes longer than a small call. */
  let over: AbortController | undefined;
  const endHost = (reason: 'late' | 'cancelled') => {
    why ??= reason;
    // SECURITY: T-26 — a guest that does not stop costs its process, and nobody else.
    void session?.end();
  };
  const cancel = () => {
    if (given.withdraw()) finish({ kind: 'closed' });
    else if (begunAt !== undefined) endHost('cancelled');
    why ??= 'cancelled';
  };
  const finish = (how: LaneEnd) => {
    clearTimeout(timer);
    // SECURITY: T-27 — nothing is done for a call that is over: it would be in no record.
    over?.abort();
    call.signal?.removeEventListener('abort', cancel);
    const wallMs = begunAt === undefined ? 0 : Math.max(0, clock.now() - begunAt);
    // An answer that comes later changes nothing in it.
    const done = asked.map((each) => ({ ...each }));
    const spent = { ...NOTHING_SPENT, hostCalls: asked.length, asked: done, wallMs };
    one.resolve(outcomeOf(how, { fuel, why: why ?? (call.signal?.aborted ? 'cancelled' : undefined), spent, session }));
  };
  if (call.signal?.aborted === true) {
    one.resolve({ kind: 'cancelled', host: undefined, ...NOTHING_SPENT });
    return;
  }
  const given = one.lanes.give(order, {
    handle,
    fuel: BigInt(fuel),
    args: call.args ?? [],
    input: call.input,
    since: clock.now(),
    budgetMs,
    given(host, left) {
      session = host;
      leftMs = left;
    },
    begun() {
      begunAt = clock.now();
      if (why === 'cancelled') endHost('cancelled');
      else timer = setTimeout(() => endHost('late'), leftMs).unref();
    },
    async answer({ function: name, body }) {
      // SECURITY: T-27, T-56 — the host that asks is not believed: what was not granted, or is too much, ends it.
      if (!functions.includes(name)) throw new Error('It was not granted that.');
      if (asked.length >= limits.hostCalls) throw new Error('It asks too often.');
      const record = { function: name as string, status: ANSWER.failed as number };
      asked.push(record);
      over ??= new AbortController();
      const answer = await answered(call, { name, body, over: over.signal });
      record.status = answer.status;
      return answer;
    },
    ended: finish,
  });
  call.signal?.addEventListener('abort', cancel, { once: true });
}

interface Asked {
  readonly name: AskedFunction;
  readonly body: Buffer;
  readonly over: AbortSignal;
}

async function answered({ answer }: WasmCall, { name, body, over }: Asked): Promise<HostAnswer> {
  const failed = { status: ANSWER.failed, body: Buffer.from(JSON.stringify({ code: 'failed' })) };
  return (await answer?.(name, body, over).catch(() => failed)) ?? failed;
}

/** SECURITY: T-27 — eight bytes each, of the system's own randomness. */
function createHandles(): () => bigint {
  const pool = Buffer.alloc(8 * 512);
  let at = pool.length;
  return () => {
    if (at === pool.length) {
      randomFillSync(pool);
      at = 0;
    }
    at += 8;
    return pool.readBigUInt64LE(at - 8);
  };
}
