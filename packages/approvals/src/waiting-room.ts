import type { SubscriptionEvent } from '@palyra/storage';
import { createAlarm } from './alarm.ts';
import type { Answer } from './answer.ts';
import { ApprovalError } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import type { Asked } from './asked.ts';
import { expireDue } from './expire-due.ts';
import { createLooker } from './look-together.ts';
import { type AnswerNews, readAnswers } from './read-answers.ts';
import { createWaiters, dueAt, type Waiter } from './waiters.ts';

export interface WaitOptions {
  /** Park after so long; until the question expires unless told. 0 looks once. */
  readonly parkAfterMs?: number;
  /** Aborted: park now, because nobody is there to be told. The question stays open. */
  readonly signal?: AbortSignal;
}

/** Everybody in this process who waits for an answer. */
export interface WaitingRoom {
  /** Throws `approvals.closed`, and what reading the answer throws. */
  wait(asked: Asked, options?: WaitOptions): Promise<Answer>;
  /** What storage tells about cards that ended. */
  hear(event: SubscriptionEvent): void;
  readonly size: number;
  close(): void;
}

/** When the clock's word could not be written, it is tried again after so long. */
const AGAIN_MS = 1_000;

/**
 * One subscription, one alarm and one query under way for all of them. Being told is only a reason to look: what a
 * waiter hears is read from the database, so a lost or invented notification changes nothing but the time.
 */
export function createWaitingRoom(context: ApprovalContext): WaitingRoom {
  const { clock } = context;
  const waiters = createWaiters();
  let isClosed = false;

  const settle = (waiter: Waiter, news: AnswerNews) => {
    if (!waiters.remove(waiter)) return;
    const { approvalId } = waiter.asked;
    waiter.resolve({ approvalId, waitedMs: Math.max(0, clock.now() - waiter.since), ...news });
  };
  const fail = (waiter: Waiter, error: unknown) => {
    if (waiters.remove(waiter)) waiter.reject(error);
  };
  const park = (waiter: Waiter) => {
    const { key, expiresAt } = waiter.asked;
    settle(waiter, { kind: 'parked', key, expiresAt });
  };

  const looker = createLooker(async (ids) => {
    const waiting = ids.flatMap((id) => waiters.of(id));
    if (waiting.length === 0) return;
    try {
      const found = await readAnswers(ids, context);
      for (const waiter of waiting) {
        const news = found.of(waiter.asked);
        if (news !== undefined) settle(waiter, news);
        else if (waiter.parkAt <= clock.now()) park(waiter);
      }
    } catch (error) {
      // SECURITY: T-11 — who cannot be told the answer is told that, and refuses; nobody waits for ever.
      for (const waiter of waiting) fail(waiter, error);
    }
  });

  const alarm = createAlarm(clock, async () => {
    const now = clock.now();
    const due = Array.from(waiters.all()).filter((waiter) => dueAt(waiter) <= now);
    try {
      // The database first: that the time is over is said once, for everybody.
      if (due.some(({ asked }) => asked.expiresAt <= now)) await expireDue(context);
    } catch (error) {
      for (const waiter of due) fail(waiter, error);
    }
    looker.look(due.map(({ asked }) => asked.approvalId));
    let next = due.length > 0 ? now + AGAIN_MS : Number.POSITIVE_INFINITY;
    for (const waiter of waiters.all()) if (dueAt(waiter) > now) next = Math.min(next, dueAt(waiter));
    return next;
  });

  return {
    get size() {
      return waiters.size;
    },
    async wait(asked, { parkAfterMs = Number.POSITIVE_INFINITY, signal } = {}) {
      if (isClosed) throw closed();
      const since = clock.now();
      const { promise, resolve, reject } = Promise.withResolvers<Answer>();
      const waiter: Waiter = { asked, since, parkAt: since + parkAfterMs, resolve, reject };
      waiters.add(waiter);
      alarm.before(dueAt(waiter));
      looker.look([asked.approvalId]);
      return signal === undefined ? promise : untilAborted(promise, signal, () => park(waiter));
    },
    hear(event) {
      if (event.kind === 'gap') looker.look(waiters.ids());
      else if (waiters.of(event.payload).length > 0) looker.look([event.payload]);
    },
    close() {
      isClosed = true;
      alarm.close();
      for (const waiter of Array.from(waiters.all())) fail(waiter, closed());
    },
  };
}

async function untilAborted(promise: Promise<Answer>, signal: AbortSignal, onAbort: () => void): Promise<Answer> {
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function closed(): ApprovalError {
  return new ApprovalError(
    'approvals.closed',
    'Approvals were closed while somebody waited; the question stays open.',
    {
      fix: 'Ask again with the same key once palyrad runs.',
    },
  );
}
