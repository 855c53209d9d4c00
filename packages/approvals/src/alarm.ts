import type { Clock } from '@palyra/primitives';

/** One timer for all who wait, however many. */
export interface Alarm {
  /** Rings at this time or before. */
  before(time: number): void;
  close(): void;
}

/** Those that fall due together ring once: expiry is decided by comparing times, not by when somebody notices. */
const TOGETHER_MS = 100;
/** What timers can hold; later alarms are set anew on the way. */
const LONGEST_MS = 24 * 60 * 60 * 1000;

/** `ring` returns when it wants to ring next. */
export function createAlarm(clock: Clock, ring: () => Promise<number>): Alarm {
  let at = Number.POSITIVE_INFINITY;
  let sleeping: AbortController | undefined;

  const set = (time: number) => {
    if (time >= at) return;
    at = time;
    sleeping?.abort();
    const own = new AbortController();
    sleeping = own;
    const ms = Math.min(Math.max(0, Math.ceil((time - clock.now()) / TOGETHER_MS) * TOGETHER_MS), LONGEST_MS);
    void clock.sleep(ms, own.signal).then(wake, () => undefined);
  };
  const wake = async () => {
    at = Number.POSITIVE_INFINITY;
    set(await ring());
  };

  return {
    before: set,
    close() {
      at = Number.NEGATIVE_INFINITY;
      sleeping?.abort();
    },
  };
}
