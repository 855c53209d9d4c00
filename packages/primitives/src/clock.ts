import { setTimeout as delay } from 'node:timers/promises';

/** Time as a dependency: the only way code reads the time or waits, so tests own it. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    try {
      await delay(ms, undefined, signal === undefined ? {} : { signal });
    } catch (cause) {
      throw signal?.aborted ? signal.reason : cause;
    }
  },
};
