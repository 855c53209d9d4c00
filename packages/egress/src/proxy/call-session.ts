import { createPrivateRanges, type PrivateRanges } from '../addresses/private-ranges.ts';
import { denial } from '../denial.ts';
import type { AskAnswer, AttemptProtocol, ConnectionAttempt } from '../egress-call.ts';
import { formatTarget, type Target } from '../hosts/target.ts';
import type { CallOrder, HeaderPairs } from '../wire/messages.ts';
import { type CallAuthority, createCallAuthority } from './call-authority.ts';
import type { Line } from './line.ts';
import { type OpenAttempt, openAttempt } from './open-attempt.ts';
import { createQuestions } from './questions.ts';

/** One call as the proxy knows it: its rules, what it has used up, and its connections. */
export interface CallSession {
  readonly order: CallOrder;
  readonly ranges: PrivateRanges;
  /** Only when TLS of a host is to be ended. */
  readonly authority: CallAuthority | undefined;
  /** False: it has too many open, or is closed. */
  enter(line: Line): boolean;
  /** The same for a request of palyrad's own: to be called when it is over. Undefined where `enter` says false. */
  enterFetch(): (() => void) | undefined;
  /** Undefined once the call has tried too often; that is counted. */
  begin(protocol: AttemptProtocol, target: Target): OpenAttempt | undefined;
  /** One question for equal targets; `line` is who waits. Undefined when the one who waits is gone. */
  ask(target: Target, line: Pick<Line, 'onGone'>): Promise<AskAnswer | undefined>;
  /** Whether somebody is being asked on its behalf: then it is not idle. */
  isHeld(line: object): boolean;
  /** Nothing of it is idle, however long it waits. */
  hold(line: Line): void;
  /** Headers that belong on a request for this target. Throws when nobody could tell. */
  credential(target: Target): Promise<HeaderPairs>;
  /** Ends every connection. */
  close(): void;
}

/** What a session needs from the other side of the wire. */
export interface SessionLink {
  now(): number;
  tellAttempt(attempt: ConnectionAttempt): void;
  ask(target: Target, signal: AbortSignal): Promise<AskAnswer>;
  credential(target: Target): Promise<HeaderPairs>;
}

/** Throws `EgressError` `egress.bad_range`. */
export function createCallSession(order: CallOrder, link: SessionLink): CallSession {
  const { limits } = order;
  const ranges = createPrivateRanges(order.privateRanges);
  const budget = { bytesIn: limits.bytesIn, bytesOut: limits.bytesOut };
  const lines = new Set<Line>();
  const held = new Set<object>();
  const questions = createQuestions({ most: limits.questions, ask: link.ask });
  const overflow = createOverflow(limits.attempts + 1, link);
  const open = new Map<number, OpenAttempt>();
  const tell = (attempt: ConnectionAttempt): void => {
    if (attempt.endedAt !== undefined) open.delete(attempt.number);
    link.tellAttempt(attempt);
  };
  let attempts = 0;
  let fetching = 0;
  let isClosed = false;
  const isFull = (): boolean => isClosed || lines.size + fetching >= limits.connections;

  return {
    order,
    ranges,
    authority: order.terminate.length === 0 ? undefined : createCallAuthority(order.terminate, link.now()),
    enter(line) {
      // SECURITY: T-17 — held connections count like all others.
      if (isFull()) return false;
      lines.add(line);
      line.onClosed(() => lines.delete(line));
      return true;
    },
    enterFetch() {
      if (isFull()) return undefined;
      fetching += 1;
      return () => {
        fetching -= 1;
      };
    },
    begin(protocol, target) {
      attempts += 1;
      if (attempts > limits.attempts) {
        overflow.count();
        return undefined;
      }
      const attempt = openAttempt({ number: attempts, protocol, target, budget, now: link.now, tell });
      open.set(attempts, attempt);
      return attempt;
    },
    async ask(target, line) {
      held.add(line);
      try {
        return await questions.ask(target, line);
      } finally {
        held.delete(line);
      }
    },
    isHeld: (line) => held.has(line),
    hold(line) {
      held.add(line);
      line.onClosed(() => held.delete(line));
    },
    credential: async (target) => (order.hasCredentials ? link.credential(target) : []),
    close() {
      if (isClosed) return;
      isClosed = true;
      questions.close();
      for (const line of lines) line.destroy();
      for (const attempt of open.values()) attempt.end();
      overflow.end();
    },
  };
}

/** SECURITY: T-39 — a tool that tries without end fills no memory: what comes behind the last record is one record. */
function createOverflow(number: number, link: SessionLink): { count(): void; end(): void } {
  let times = 0;
  let at = 0;
  const tell = (): void => {
    const target = { host: '*', port: 0 };
    link.tellAttempt({
      number,
      at,
      protocol: 'unknown',
      ...target,
      outcome: 'denied',
      denial: denial('egress.too_many_attempts', target, { detail: `${times} of ${formatTarget(target)}` }),
      bytesIn: 0,
      bytesOut: 0,
      endedAt: link.now(),
      times,
    });
  };
  return {
    count() {
      times += 1;
      if (times > 1) return;
      at = link.now();
      tell();
    },
    end() {
      if (times > 1) tell();
    },
  };
}
