import type { Clock } from '@palyra/primitives';
import type { GuestSettings } from './host/messages.ts';
import type { StartHost } from './host-process.ts';
import { type HostedCall, type HostSession, type OpenedSession, openSession } from './host-session.ts';

export interface LaneLimits {
  /** Host processes at once, whoever they are for. */
  readonly hosts: number;
  /** Of one principal and module. */
  readonly hostsOfOne: number;
  /** Calls of all that wait for a host. */
  readonly waiting: number;
  /** After so many calls a host is replaced. */
  readonly callsPerHost: number;
  /** And after so many bytes that it has said: the sandbox keeps what a command says for as long as it runs. */
  readonly saidBytes: number;
  /** How long one without a call is kept. */
  readonly idleMs: number;
}

export const DEFAULT_LANE_LIMITS: LaneLimits = {
  hosts: 4,
  hostsOfOne: 2,
  waiting: 10_000,
  callsPerHost: 100_000,
  saidBytes: 32 * 1024 * 1024,
  idleMs: 60_000,
};

/** What hosts are kept apart by, and what each is given. */
export interface LaneOrder {
  /** SECURITY: T-56 — of principal, module, grants and limits: a host that was taken over has nobody else to serve. */
  readonly key: string;
  readonly module: Uint8Array;
  readonly settings: GuestSettings;
  readonly memoryBytes: number;
  /** For starting a host and compiling in it. */
  readonly wallMs: number;
  /** Whether a call may be given to a host that still has one: not when the guest can ask palyrad anything. */
  readonly isQueued: boolean;
}

export interface LaneCall<About> extends Omit<HostedCall, 'ended'> {
  /** Which host it has. */
  given(session: HostSession<About>): void;
  ended(how: LaneEnd): void;
}

export type LaneEnd =
  | Exclude<Parameters<HostedCall['ended']>[0], { kind: 'not_begun' }>
  | { readonly kind: 'refused'; readonly end: string; readonly message: string }
  | { readonly kind: 'unavailable'; readonly message: string; readonly fix: string | undefined }
  | { readonly kind: 'slow_start' }
  | { readonly kind: 'crowded' }
  | { readonly kind: 'closed' };

/** Hosts by lane, as many as are needed and may be. */
export interface HostLanes<About> {
  give(order: LaneOrder, call: LaneCall<About>): { withdraw(): boolean };
  /** How many host processes there are. */
  size(): number;
  close(): Promise<void>;
}

interface Lane<About> {
  readonly order: LaneOrder;
  readonly queue: LaneCall<About>[];
  readonly sessions: Set<HostSession<About>>;
  starting: number;
  /** A start failed: none is tried while others of it serve. */
  isFull: boolean;
}

/** Calls that one host has at a time, when they may queue: enough to hide the way there and back. */
const MOST_QUEUED = 16;

export interface HostLanesDeps<About> {
  readonly startHost: StartHost<About>;
  readonly limits: LaneLimits;
  readonly clock: Clock;
}

export function createHostLanes<About>({ startHost, limits, clock }: HostLanesDeps<About>): HostLanes<About> {
  const lanes = new Map<string, Lane<About>>();
  const ending = new Set<Promise<unknown>>();
  /** Since when they rest; those that have longest come first. */
  const idle = new Map<HostSession<About>, number>();
  let isSweeping = false;
  const stop = new AbortController();
  let waiting = 0;

  const size = () => [...lanes.values()].reduce((sum, { sessions, starting }) => sum + sessions.size + starting, 0);
  const track = <Made>(work: Promise<Made>): Promise<Made> => {
    const tracked = work.finally(() => ending.delete(tracked));
    ending.add(tracked);
    return tracked;
  };
  const dismiss = (lane: Lane<About>, session: HostSession<About>): void => {
    lane.sessions.delete(session);
    idle.delete(session);
    void track(session.end());
    if (lane.sessions.size + lane.starting + lane.queue.length === 0) lanes.delete(lane.order.key);
  };
  const isWornOut = ({ served, said }: HostSession<About>): boolean =>
    served >= limits.callsPerHost || said >= limits.saidBytes;
  const rest = (session: HostSession<About>): void => {
    idle.delete(session);
    idle.set(session, clock.now());
    if (isSweeping) return;
    isSweeping = true;
    void sweep().finally(() => {
      isSweeping = false;
    });
  };
  /** One timer for all: a host rests after every call. */
  const sweep = async (): Promise<void> => {
    while (size() > 0) {
      const isOver = await clock.sleep(limits.idleMs / 2, stop.signal).then(
        () => false,
        () => true,
      );
      if (isOver) return;
      for (const [session, since] of idle) {
        const lane = laneOf(session);
        if (lane !== undefined && clock.now() - since >= limits.idleMs) dismiss(lane, session);
      }
    }
  };
  const laneOf = (session: HostSession<About>): Lane<About> | undefined =>
    [...lanes.values()].find(({ sessions }) => sessions.has(session));
  /** Of another lane, the one that has rested longest: its place is needed. */
  const makeRoom = (): boolean => {
    const [session] = idle.keys();
    const lane = session === undefined ? undefined : laneOf(session);
    if (session === undefined || lane === undefined) return false;
    dismiss(lane, session);
    return true;
  };
  const hand = (lane: Lane<About>, session: HostSession<About>): void => {
    const call = lane.queue.shift();
    if (call === undefined) return;
    waiting -= 1;
    idle.delete(session);
    call.given(session);
    session.send({
      ...call,
      ended(how) {
        // Nothing of it ran: it is the next one of whichever host is free.
        if (how.kind === 'not_begun') {
          lane.queue.unshift(call);
          waiting += 1;
          pump(lane);
          return;
        }
        call.ended(how);
        if (session.inFlight === 0 && session.isAlive && lane.sessions.has(session)) {
          if (isWornOut(session)) dismiss(lane, session);
          else if (lane.queue.length === 0) rest(session);
        }
        pumpAll(lane);
      },
    });
  };
  const start = async (lane: Lane<About>): Promise<void> => {
    const { order } = lane;
    lane.starting += 1;
    const slow = new AbortController();
    clock.sleep(order.wallMs, slow.signal).then(
      () => slow.abort('slow'),
      () => undefined,
    );
    const opened = await openSession({
      ...order,
      startHost,
      signal: AbortSignal.any([slow.signal, stop.signal]),
      onGone: () => forget(lane),
    });
    const isSlow = slow.signal.aborted;
    slow.abort('started');
    lane.starting -= 1;
    lane.isFull = opened.kind !== 'open';
    if (opened.kind === 'open' && !stop.signal.aborted) {
      lane.sessions.add(opened.session);
      if (lane.queue.length === 0) rest(opened.session);
    } else if (opened.kind === 'open') void track(opened.session.end());
    else if (lane.sessions.size + lane.starting === 0) giveUp(lane, isSlow ? { kind: 'slow_start' } : asEnd(opened));
    pumpAll(lane);
  };
  const forget = (lane: Lane<About>): void => {
    for (const session of lane.sessions) {
      if (session.isAlive) continue;
      lane.sessions.delete(session);
      idle.delete(session);
    }
    pumpAll(lane);
  };
  const giveUp = (lane: Lane<About>, end: LaneEnd): void => {
    const calls = lane.queue.splice(0);
    waiting -= calls.length;
    for (const call of calls) call.ended(end);
    if (lane.sessions.size + lane.starting === 0) lanes.delete(lane.order.key);
  };
  const pump = (lane: Lane<About>): void => {
    if (stop.signal.aborted) return;
    const there = lane.sessions.size + lane.starting;
    const canGrow = there < limits.hostsOfOne && !(lane.isFull && there > 0);
    const room = lane.order.isQueued && !canGrow && lane.starting === 0 ? MOST_QUEUED : 1;
    while (lane.queue.length > 0) {
      const free = leastBusy(lane.sessions, room, isWornOut);
      if (free === undefined) break;
      hand(lane, free);
    }
    if (lane.queue.length === 0 || lane.starting >= lane.queue.length) return;
    if (!canGrow || (size() >= limits.hosts && !makeRoom())) return;
    void track(start(lane));
  };
  /** This one first: it is the one that changed. */
  const pumpAll = (first: Lane<About>): void => {
    pump(first);
    if (waiting === first.queue.length) return;
    for (const lane of lanes.values()) if (lane !== first && lane.queue.length > 0) pump(lane);
  };

  return {
    size,
    give(order, call) {
      if (stop.signal.aborted || waiting >= limits.waiting) {
        call.ended({ kind: stop.signal.aborted ? 'closed' : 'crowded' });
        return { withdraw: () => false };
      }
      const lane = lanes.get(order.key) ?? { order, queue: [], sessions: new Set(), starting: 0, isFull: false };
      lanes.set(order.key, lane);
      lane.queue.push(call);
      waiting += 1;
      pump(lane);
      return {
        withdraw() {
          const at = lane.queue.indexOf(call);
          if (at < 0) return false;
          lane.queue.splice(at, 1);
          waiting -= 1;
          return true;
        },
      };
    },
    async close() {
      stop.abort();
      for (const lane of lanes.values()) {
        giveUp(lane, { kind: 'closed' });
        for (const session of lane.sessions) dismiss(lane, session);
      }
      await Promise.allSettled(ending);
    },
  };
}

function leastBusy<About>(
  sessions: ReadonlySet<HostSession<About>>,
  room: number,
  isWornOut: (session: HostSession<About>) => boolean,
): HostSession<About> | undefined {
  let best: HostSession<About> | undefined;
  for (const session of sessions) {
    if (!session.isAlive || session.inFlight >= room || isWornOut(session)) continue;
    if (best === undefined || session.inFlight < best.inFlight) best = session;
  }
  return best;
}

function asEnd(opened: Exclude<OpenedSession<unknown>, { kind: 'open' }>): LaneEnd {
  if (opened.kind === 'refused') return { kind: 'refused', end: opened.loaded.end, message: opened.loaded.message };
  const { message, fix, end } = opened;
  if (end?.reason === 'memory') return { kind: 'refused', end: 'memory_exceeded', message };
  return { kind: 'unavailable', message, fix };
}
