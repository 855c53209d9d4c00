import type { ClientReport, ClientReports } from '@palyra/gateway';

/** Calls of one session that the agent does itself, and has not reported yet. */
export interface PendingReports {
  /** For one call; by the agent's own name for it, or by what it does where it has none. */
  expect(name: string): PendingReport;
  /** Resolves when it is on record, at once when nobody waits for it, and throws what kept it from being recorded. */
  report(name: string, report: ClientReport): Promise<void>;
  /** Nothing more will be reported. */
  close(): void;
}

export interface PendingReport extends ClientReports {
  /** The call is over. With a fault: what it did is not on record. */
  drop(fault?: unknown): void;
}

interface Expected {
  deliver(report: ClientReport | undefined): void;
  readonly over: Promise<void>;
}

/** SECURITY: T-39 — agents do not report everything: a tool that failed, or that their user refused, may have no event. */
const MOST_WAITING = 64;

export function createPendingReports(): PendingReports {
  const waiting = new Map<string, Expected[]>();
  /** Those whose calls were let go on, the longest first. What a human is still asked about waits for no report. */
  const awaited = new Set<Expected>();
  const forget = (name: string, expected: Expected) => {
    const left = (waiting.get(name) ?? []).filter((each) => each !== expected);
    if (left.length === 0) waiting.delete(name);
    else waiting.set(name, left);
    awaited.delete(expected);
  };
  const giveUpOldest = () => {
    const [oldest] = awaited;
    if (oldest === undefined) return;
    // At once: whoever is next is not to give up the same one again.
    awaited.delete(oldest);
    oldest.deliver(undefined);
  };
  return {
    expect(name) {
      const told = Promise.withResolvers<ClientReport | undefined>();
      const over = Promise.withResolvers<void>();
      // Of a call that nobody reports nobody asks.
      over.promise.catch(() => undefined);
      const expected = { deliver: told.resolve, over: over.promise };
      // From now on: an agent that is quick reports before anybody listens.
      waiting.set(name, [...(waiting.get(name) ?? []), expected]);
      return {
        drop(fault) {
          forget(name, expected);
          if (fault === undefined) over.resolve();
          else over.reject(fault);
        },
        async next(signal) {
          const giveUp = () => told.resolve(undefined);
          if (signal.aborted) giveUp();
          signal.addEventListener('abort', giveUp, { once: true });
          awaited.add(expected);
          if (awaited.size > MOST_WAITING) giveUpOldest();
          try {
            return await told.promise;
          } finally {
            signal.removeEventListener('abort', giveUp);
            forget(name, expected);
          }
        },
      };
    },
    async report(name, report) {
      const [oldest] = waiting.get(name) ?? [];
      if (oldest === undefined) return;
      forget(name, oldest);
      oldest.deliver(report);
      await oldest.over;
    },
    close() {
      for (const each of waiting.values()) for (const { deliver } of each) deliver(undefined);
      waiting.clear();
    },
  };
}
