import { randomFillSync } from 'node:crypto';
import { type Current, callOf, type GuestCall } from './guest-call.ts';
import { OutOfBounds } from './guest-memory.ts';
import { ALWAYS_LINKED } from './known-imports.ts';
import { ANSWER, type AskedFunction, type GuestSettings } from './messages.ts';

type Act = (call: GuestCall, ...args: number[]) => number | bigint;

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
const MOST_LOG_LINE = 16 * 1024;
/** What one host call may be told or given. */
const MOST_ARGUMENT_BYTES: number = 1024 * 1024;
const MOST_RANDOM_BYTES = 64 * 1024;

/** Our own ABI for one instance: only what is granted is there. */
export function palyraImports(current: Current, settings: GuestSettings): Readonly<Record<string, unknown>> {
  const granted = Object.entries(ACTS).filter(
    ([name]) => ALWAYS_LINKED.includes(name) || settings.functions.includes(name),
  );
  return Object.fromEntries(granted.map(([name, act]) => [name, linked(current, settings, act)]));
}

const ACTS: Readonly<Record<string, Act>> = {
  log(call, level = 0, pointer = 0, length = 0) {
    const text = call.memory.bytes(pointer, length).subarray(0, MOST_LOG_LINE);
    call.charge(text.length);
    call.log(Buffer.concat([Buffer.from(`${LEVELS[level] ?? 'info'} `), text, NEWLINE]));
    return ANSWER.done;
  },
  fetch_result(call, pointer = 0, length = 0) {
    const part = call.pending.subarray(0, length >>> 0);
    call.memory.write(pointer, part);
    call.charge(part.length);
    call.pending = call.pending.subarray(part.length);
    return part.length;
  },
  now: () => BigInt(Date.now()),
  random(call, pointer = 0, length = 0) {
    if (length >>> 0 > MOST_RANDOM_BYTES) return call.stop('host_error', 'It asked for too many random bytes at once.');
    call.charge(length >>> 0);
    randomFillSync(call.memory.bytes(pointer, length));
    return ANSWER.done;
  },
  emit: asking('emit'),
  http_request: asking('http_request'),
  secret_use: asking('secret_use'),
  kv_get: asking('kv_get'),
  kv_delete: asking('kv_delete'),
  kv_list: asking('kv_list'),
  kv_put(call, keyPointer = 0, keyLength = 0, pointer = 0, length = 0) {
    const key = argumentAt(call, keyPointer, keyLength);
    const value = argumentAt(call, pointer, length);
    const size = Buffer.alloc(4);
    size.writeUInt32LE(key.length);
    return asked(call, 'kv_put', Buffer.concat([size, key, value]));
  },
};

const NEWLINE = Buffer.from('\n');

/** One piece of bytes there, a result back. */
function asking(name: AskedFunction): Act {
  return (call, pointer = 0, length = 0) => asked(call, name, argumentAt(call, pointer, length));
}

function argumentAt(call: GuestCall, pointer: number, length: number): Buffer {
  const bytes = Buffer.from(call.memory.bytes(pointer, length));
  if (bytes.length > MOST_ARGUMENT_BYTES) return call.stop('host_error', 'It gave a host function too much at once.');
  call.charge(bytes.length);
  return bytes;
}

/** The length of the result, which the guest fetches when it has room for it: the host never calls the guest back. */
function asked(call: GuestCall, name: AskedFunction, body: Uint8Array): number {
  const { status, body: result } = call.ask(name, body);
  call.pending = result;
  return status < 0 ? status : result.length;
}

function linked(current: Current, { hostCalls }: GuestSettings, act: Act) {
  return (handle: bigint, ...args: number[]): number | bigint => {
    const call = callOf(current);
    // SECURITY: T-27 — the handle is of this very call and cannot be guessed: not one of before, of another guest, or made up.
    if (BigInt.asUintN(64, handle) !== call.handle) {
      return call.stop('capability_denied', 'It called a host function with a handle that is not of this call.');
    }
    call.hostCalls += 1;
    if (call.hostCalls > hostCalls) return call.stop('host_error', 'It made more host calls than it may.');
    try {
      return act(call, ...args);
    } catch (error) {
      if (error instanceof OutOfBounds) return call.stop('trapped', error.message);
      throw error;
    }
  };
}
