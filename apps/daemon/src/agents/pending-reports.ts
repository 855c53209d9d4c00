import type { ClientReport, ClientReports } from '@palyra/gateway';

/** Calls of one session that the agent does itself, and has not reported yet. */
export interface PendingReports {
  /** For one call; by the agent's own name for it, or by what it does where it has none. */
  expect(name: string): PendingReport;
  /** False when nobody waits for it. */
  report(name: string, report: ClientReport): boolean;
  /** Nothing more will be reported. */
  close(): void;
}

export interface PendingReport extends ClientReports {
  /** Nobody waits for it any more. */
  drop(): void;
}

type Deliver = (report: ClientReport | undefined) => void;

/** SECURITY: T-39 — agents do not report everything: a tool that failed, or that their user refused, may have no event. */
const MOST_WAITING = 64;

export function createPendingReports(): PendingReports {
  const waiting = new Map<string, Deliver[]>();
  /** Oldest first. */
  const all = new Map<Deliver, string>();
  const forget = (name: string, deliver: Deliver) => {
    const left = (waiting.get(name) ?? []).filter((each) => each !== deliver);
    if (left.length === 0) waiting.delete(name);
    else waiting.set(name, left);
    all.delete(deliver);
  };
  return {
    expect(name) {
      const told = Promise.withResolvers<ClientReport | undefined>();
      // From now on: an agent that is quick reports before anybody listens.
      waiting.set(name, [...(waiting.get(name) ?? []), told.resolve]);
      all.set(told.resolve, name);
      const [oldest] = all.keys();
      if (all.size > MOST_WAITING) oldest?.(undefined);
      return {
        drop: () => forget(name, told.resolve),
        async next(signal) {
          const giveUp = () => told.resolve(undefined);
          if (signal.aborted) giveUp();
          signal.addEventListener('abort', giveUp, { once: true });
          try {
            return await told.promise;
          } finally {
            signal.removeEventListener('abort', giveUp);
            forget(name, told.resolve);
          }
        },
      };
    },
    report(name, report) {
      const [oldest] = waiting.get(name) ?? [];
      if (oldest === undefined) return false;
      forget(name, oldest);
      oldest(report);
      return true;
    },
    close() {
      for (const delivers of waiting.values()) for (const deliver of delivers) deliver(undefined);
      waiting.clear();
    },
  };
}
