import { setImmediate as turnOfTheEventLoop } from 'node:timers/promises';
import type { Clock } from '@palyra/primitives';

export interface FakeClock extends Clock {
  /**
   * Moves time forward and wakes every sleeper that falls due, earliest first, at its own due time. Whoever it wakes may
   * sleep again and be woken within the same advance. Code that waits for real I/O is not waited for.
   */
  advance(ms: number): Promise<void>;
  /** When the present sleepers fall due, in the order they will wake. */
  dueTimes(): readonly number[];
}

interface Sleeper {
  readonly due: number;
  wake(): void;
}

/** A clock that stands still until it is advanced. */
export function createFakeClock(startAt: number = Date.UTC(2026, 0, 1)): FakeClock {
  let now = startAt;
  // Kept in waking order: by due time, and among equals by who slept first.
  const sleepers: Sleeper[] = [];

  function enlist(sleeper: Sleeper): void {
    const later = sleepers.findIndex((other) => other.due > sleeper.due);
    sleepers.splice(later === -1 ? sleepers.length : later, 0, sleeper);
  }

  function dismiss(sleeper: Sleeper): void {
    const index = sleepers.indexOf(sleeper);
    if (index !== -1) sleepers.splice(index, 1);
  }

  return {
    now: () => now,
    dueTimes: () => sleepers.map((sleeper) => sleeper.due),

    async sleep(ms, signal) {
      signal?.throwIfAborted();
      if (ms <= 0) return;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const sleeper: Sleeper = { due: now + ms, wake: resolve };
      const giveUp = () => {
        dismiss(sleeper);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      enlist(sleeper);
      try {
        await promise;
      } finally {
        signal?.removeEventListener('abort', giveUp);
      }
    },

    async advance(ms) {
      if (!(ms >= 0)) throw new RangeError(`Time only moves forward: ${ms} ms.`);
      const target = now + ms;
      // Code already under way gets to its own `sleep` first; otherwise what this wakes would depend on microtask timing.
      await turnOfTheEventLoop();
      for (let next = sleepers[0]; next !== undefined && next.due <= target; next = sleepers[0]) {
        sleepers.shift();
        now = Math.max(now, next.due);
        next.wake();
        await turnOfTheEventLoop();
      }
      now = Math.max(now, target);
    },
  };
}
