import type { Bell } from './bell.ts';

/**
 * Whoever hears the bell looks for all that is new, so one ring does for many commits. The first is rung at once; what
 * follows within this time is rung for at its end. Every process that listens is woken by each ring, our own reader too,
 * which finds nothing but what we wrote ourselves, just when those who were answered go on.
 */
const QUIET_MS = 10;

export function ringSeldom(bell: Bell): Bell {
  let rungAt = -Infinity;
  let waiting: NodeJS.Timeout | undefined;
  const ringNow = () => {
    clearTimeout(waiting);
    waiting = undefined;
    rungAt = performance.now();
    bell.ring();
  };
  return {
    ring() {
      const wait = rungAt + QUIET_MS - performance.now();
      // Also for what waits: a thread that is never idle comes to no timer.
      if (wait <= 0) ringNow();
      else waiting ??= setTimeout(ringNow, wait);
    },
    close() {
      if (waiting !== undefined) ringNow();
      bell.close();
    },
  };
}
