import type { Clock } from '@palyra/primitives';
import type { GuestSettings } from './host/messages.ts';
import type { StartHost } from './host-process.ts';
import { type HostedCall, type HostSession, type OpenedSession, openSession } from './host-session.ts';
import type { LaneLimits } from './lane-limits.ts';

/** What hosts are kept apart by, and what each is given. */
export interface LaneOrder {
  /** SECURITY: T-56 — of principal, module, grants and limits: a host that was taken over has nobody else to serve. */
  readonly key: string;
  readonly module: Uint8Array;
  readonly settings: GuestSettings;
  readonly memoryBytes: number;
  /** Of each of its calls: none waits for the start of one that may take longer. */
  readonly wallMs: number;
  /** Whether a call may be given to a host that still has one: not when the guest can ask palyrad anything. */
  readonly isQueued: boolean;
}

export interface LaneCall<About> extends Omit<HostedCall, 'ended'> {
  /** When it came. */
  readonly since: number;
  /** Of its time, what is left for the start of a host and for itself. Waiting for others is not in it. */
  readonly budgetMs: number;
  /** Which host it has, and how long. */
  given(session: HostSession<About>, leftMs: number): void;
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
/** For which a lane keeps its only host, so that hosts do not only start. */
const TURN_MS = 1_000;

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
  /** Those that end after the calls that they have: their places are for lanes without a host. */
  const retiring = new Set<HostSession<About>>();
  const starts = new WeakMap<HostSession<About>, { readonly began: number; readonly opened: number }>();
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
    const { key } = lane.order;
    // Who gave a place up is the last to get one.
    if (retiring.delete(session) && lanes.delete(key)) lanes.set(key, lane);
    if (lane.sessions.size + lane.starting + lane.queue.length === 0) lanes.delete(key);
  };
  const isWornOut = (session: HostSession<About>): boolean =>
    retiring.has(session) || session.served >= limits.callsPerHost || session.said >= limits.saidBytes;
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
  /** SECURITY: T-26 — who keeps hosts busy does not keep others from having one: who has most gives one up. */
  const claim = (): boolean => {
    const all = [...lanes.values()];
    if (retiring.size >= all.filter(isWithout).length) return false;
    const staying = ({ sessions }: Lane<About>) => [...sessions].filter((each) => each.isAlive && !retiring.has(each));
    const richest = all.reduce((most, lane) => (staying(lane).length > staying(most).length ? lane : most));
    const [session, second] = staying(richest);
    if (session === undefined) return false;
    const { opened } = starts.get(session) ?? { opened: 0 };
    if (second === undefined && clock.now() - opened < TURN_MS) return false;
    retiring.add(session);
    if (session.inFlight > 0) return false;
    dismiss(richest, session);
    return true;
  };
  const leftOf = ({ since, budgetMs }: LaneCall<About>, session: HostSession<About>): number => {
    const { began, opened } = starts.get(session) ?? { began: 0, opened: 0 };
    return budgetMs - Math.max(0, opened - Math.max(began, since));
  };
  const hand = (lane: Lane<About>, session: HostSession<About>): void => {
    const call = lane.queue.shift();
    if (call === undefined) return;
    waiting -= 1;
    idle.delete(session);
    const leftMs = leftOf(call, session);
    // SECURITY: T-26 — starting and compiling are of its time: what has none left is not begun.
    if (leftMs <= 0) {
      if (session.inFlight === 0) rest(session);
      call.ended({ kind: 'slow_start' });
      return;
    }
    call.given(session, leftMs);
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
    const began = clock.now();
    const longest = lane.queue.reduce((most, { budgetMs }) => Math.max(most, budgetMs), 0);
    clock.sleep(longest, slow.signal).then(
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
      starts.set(opened.session, { began, opened: clock.now() });
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
      retiring.delete(session);
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
    if (!canGrow) return;
    if (size() < limits.hosts || makeRoom() || (isWithout(lane) && claim())) void track(start(lane));
  };
  /** Those without a host first, then this one: it is the one that changed. */
  const pumpAll = (first: Lane<About>): void => {
    const others = waiting > first.queue.length ? [...lanes.values()] : [];
    for (const lane of others) if (isWithout(lane)) pump(lane);
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

function isWithout({ queue, sessions, starting }: Lane<unknown>): boolean {
  return queue.length > 0 && sessions.size + starting === 0;
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
