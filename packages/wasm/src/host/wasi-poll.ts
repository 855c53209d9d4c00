import type { GuestCall } from './guest-call.ts';
import { ERRNO, fault, WasiFault } from './wasi-errno.ts';

const SUBSCRIPTION_BYTES = 48;
const EVENT_BYTES = 32;
const MOST_SUBSCRIPTIONS = 1024;
const KIND = { clock: 0, read: 1, write: 2 } as const;
const ABSOLUTE = 1;
const HANGUP = 1;
/** Whoever sleeps longer is ended by the wall clock, which palyrad holds. */
const LONGEST_SLEEP_MS = 600_000;

interface Subscription {
  readonly userdata: bigint;
  readonly kind: number;
  /** Of a clock: how long from now. */
  readonly milliseconds: number;
  readonly fd: number;
}

interface Event {
  readonly userdata: bigint;
  readonly errno: number;
  readonly kind: number;
  readonly bytes: bigint;
  readonly flags: number;
}

export interface PollWanted {
  readonly subscriptions: number;
  readonly events: number;
  readonly count: number;
}

/** Files and streams are always ready; when only clocks are waited for, it sleeps until the first. How many events there are. */
export function poll(call: GuestCall, wanted: PollWanted, { hasClock }: { readonly hasClock: boolean }): number {
  if (wanted.count === 0 || wanted.count > MOST_SUBSCRIPTIONS) throw fault('inval');
  call.memory.bytes(wanted.events, wanted.count * EVENT_BYTES);
  const subscriptions = Array.from({ length: wanted.count }, (_, index) =>
    readSubscription(call, wanted.subscriptions + index * SUBSCRIPTION_BYTES),
  );
  const ready = subscriptions.filter(({ kind }) => kind !== KIND.clock).map((each) => readiness(call, each));
  const events = ready.length > 0 ? ready : slept(subscriptions, hasClock);
  for (const [index, event] of events.entries()) writeEvent(call, wanted.events + index * EVENT_BYTES, event);
  return events.length;
}

function readSubscription({ memory }: GuestCall, at: number): Subscription {
  const kind = memory.readU8(at + 8);
  const userdata = memory.readU64(at);
  if (kind === KIND.read || kind === KIND.write) {
    return { userdata, kind, milliseconds: 0, fd: memory.readU32(at + 16) };
  }
  if (kind !== KIND.clock) throw fault('inval');
  const timeout = memory.readU64(at + 24);
  const now = memory.readU32(at + 16) === 0 ? BigInt(Date.now()) * 1_000_000n : process.hrtime.bigint();
  const isAbsolute = (memory.readU16(at + 40) & ABSOLUTE) !== 0;
  const left = isAbsolute ? (timeout > now ? timeout - now : 0n) : timeout;
  return { userdata, kind, milliseconds: Number(left) / 1e6, fd: 0 };
}

function readiness(call: GuestCall, { userdata, kind, fd }: Subscription): Event {
  const event = { userdata, kind, flags: 0 };
  try {
    const descriptor = call.descriptors.get(fd);
    if (kind === KIND.write || descriptor.kind === 'directory') return { ...event, errno: ERRNO.success, bytes: 0n };
    const left =
      descriptor.kind === 'stream' ? call.input.length - call.inputRead : descriptor.node.size - descriptor.offset;
    const flags = descriptor.kind === 'stream' && left === 0 ? HANGUP : 0;
    return { ...event, errno: ERRNO.success, bytes: BigInt(Math.max(0, left)), flags };
  } catch (error) {
    if (error instanceof WasiFault) return { ...event, errno: error.errno, bytes: 0n };
    throw error;
  }
}

function slept(subscriptions: readonly Subscription[], hasClock: boolean): readonly Event[] {
  // SECURITY: T-27 — how long something takes is what a clock tells.
  if (!hasClock) throw fault('notsup');
  const first = Math.min(...subscriptions.map(({ milliseconds }) => milliseconds), LONGEST_SLEEP_MS);
  if (first > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, first);
  return subscriptions
    .filter(({ milliseconds }) => milliseconds <= first)
    .map(({ userdata, kind }) => ({ userdata, kind, errno: ERRNO.success, bytes: 0n, flags: 0 }));
}

function writeEvent({ memory }: GuestCall, at: number, { userdata, errno, kind, bytes, flags }: Event): void {
  memory.bytes(at, EVENT_BYTES).fill(0);
  memory.writeU64(at, userdata);
  memory.writeU16(at + 8, errno);
  memory.writeU8(at + 10, kind);
  memory.writeU64(at + 16, bytes);
  memory.writeU16(at + 24, flags);
}
