import { randomFillSync } from 'node:crypto';
import type { GuestCall } from './guest-call.ts';
import type { GuestSettings } from './messages.ts';
import { ERRNO, fault } from './wasi-errno.ts';
import type { WasiFunctions } from './wasi-functions.ts';
import { poll } from './wasi-poll.ts';

const CLOCK = { realtime: 0, monotonic: 1 } as const;
const RESOLUTION = 1_000_000n;
const MOST_RANDOM = 16 * 1024 * 1024;

/** Arguments, variables, clocks, random and the end. */
export function processFunctions(settings: Pick<GuestSettings, 'argv0' | 'environment' | 'functions'>): WasiFunctions {
  const variables = Object.entries(settings.environment).map(([name, value]) => Buffer.from(`${name}=${value}\0`));
  const argumentsOf = (call: GuestCall) =>
    [settings.argv0, ...call.args].map((argument) => Buffer.from(`${argument}\0`));
  return {
    args_get: (call, list, at) => writeTexts(call, argumentsOf(call), [list as number, at as number]),
    args_sizes_get: (call, count, bytes) => writeSizes(call, argumentsOf(call), [count as number, bytes as number]),
    environ_get: (call, list, at) => writeTexts(call, variables, [list as number, at as number]),
    environ_sizes_get: (call, count, bytes) => writeSizes(call, variables, [count as number, bytes as number]),
    clock_res_get(call, clock, at) {
      nanoseconds(clock as number);
      call.memory.writeU64(at as number, clock === CLOCK.monotonic ? 1n : RESOLUTION);
      return ERRNO.success;
    },
    clock_time_get(call, clock, _precision, at) {
      call.memory.writeU64(at as number, nanoseconds(clock as number));
      return ERRNO.success;
    },
    random_get(call, at, length) {
      if ((length as number) >>> 0 > MOST_RANDOM) throw fault('inval');
      call.charge((length as number) >>> 0);
      randomFillSync(call.memory.bytes(at as number, length as number));
      return ERRNO.success;
    },
    poll_oneoff(call, subscriptions, events, count, at) {
      const wanted = {
        subscriptions: subscriptions as number,
        events: events as number,
        count: (count as number) >>> 0,
      };
      call.memory.writeU32(at as number, poll(call, wanted, { hasClock: settings.functions.includes('now') }));
      return ERRNO.success;
    },
    proc_exit: (call, code) => call.stop('completed', '', code as number),
    proc_raise: (call) => call.stop('trapped', 'It raised a signal against itself.'),
    sched_yield: () => ERRNO.success,
    // There are no sockets: what is open is something else.
    sock_accept: notSocket,
    sock_recv: notSocket,
    sock_send: notSocket,
    sock_shutdown: notSocket,
  };
}

function notSocket(call: GuestCall, fd: unknown): number {
  call.descriptors.get(fd as number);
  return ERRNO.notsock;
}

/** Throws `inval`. */
function nanoseconds(clock: number): bigint {
  if (clock === CLOCK.realtime) return BigInt(Date.now()) * 1_000_000n;
  if (clock === CLOCK.monotonic) return process.hrtime.bigint();
  throw fault('inval');
}

function writeSizes(call: GuestCall, texts: readonly Buffer[], [count, bytes]: readonly [number, number]): number {
  call.memory.writeU32(count, texts.length);
  call.memory.writeU32(
    bytes,
    texts.reduce((sum, text) => sum + text.length, 0),
  );
  return ERRNO.success;
}

function writeTexts(call: GuestCall, texts: readonly Buffer[], [list, at]: readonly [number, number]): number {
  let next = at;
  for (const [index, text] of texts.entries()) {
    call.memory.writeU32(list + index * 4, next);
    call.memory.write(next, text);
    next += text.length;
  }
  call.charge(next - at);
  return ERRNO.success;
}
