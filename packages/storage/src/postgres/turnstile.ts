import { StorageError } from '../storage-error.ts';

/** Lets so many through at once; the others wait in order, and too many are turned away. */
export interface Turnstile {
  /** Throws `storage.overloaded` at once, without waiting. */
  pass<Result>(work: () => Promise<Result>): Promise<Result>;
}

/**
 * Stands before a pool of connections: the pool itself counts waiting for a free one as a failure to connect, so a busy
 * server would look like one that is away.
 */
export function createTurnstile(atOnce: number, maxWaiting: number): Turnstile {
  const waiting: (() => void)[] = [];
  let inside = 0;

  const enter = async () => {
    if (inside < atOnce) {
      inside += 1;
      return;
    }
    if (waiting.length >= maxWaiting) {
      const fix = 'Try again in a moment, or raise storage.pool_size.';
      throw new StorageError('storage.overloaded', `Over ${maxWaiting} requests wait for the database.`, { fix });
    }
    // Whoever leaves hands over the place, so `inside` stays as it is.
    await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) inside -= 1;
    else next();
  };

  return {
    async pass(work) {
      await enter();
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
