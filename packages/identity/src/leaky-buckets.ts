import type { Clock } from '@palyra/primitives';

/** What was spent by name, and is forgotten bit by bit. In memory: a restart forgives. */
export interface LeakyBuckets {
  /** No room for one more. */
  isFull(name: string): boolean;
  /** Also where there is no room, up to twice as much: a flood that is over is forgotten soon. */
  spend(name: string): void;
  /** What was spent a moment ago, and should not have been. */
  giveBack(name: string): void;
}

export interface BucketSize {
  readonly capacity: number;
  /** For each of these one is forgotten. */
  readonly refillMs: number;
}

interface Bucket {
  readonly spent: number;
  readonly at: number;
}

/** SECURITY: T-39 — whoever comes under many names must not fill the memory. */
const MOST_REMEMBERED = 10_000;

export function createLeakyBuckets(clock: Pick<Clock, 'now'>, { capacity, refillMs }: BucketSize): LeakyBuckets {
  const buckets = new Map<string, Bucket>();
  const spentNow = (name: string): number => {
    const bucket = buckets.get(name);
    return bucket === undefined ? 0 : Math.max(0, bucket.spent - (clock.now() - bucket.at) / refillMs);
  };
  const put = (name: string, spent: number): void => {
    buckets.delete(name);
    if (buckets.size >= MOST_REMEMBERED) forgetOldest(buckets);
    buckets.set(name, { spent, at: clock.now() });
  };
  return {
    isFull: (name) => spentNow(name) + 1 > capacity,
    spend: (name) => put(name, Math.min(spentNow(name) + 1, 2 * capacity)),
    giveBack: (name) => put(name, Math.max(0, spentNow(name) - 1)),
  };
}

export function forgetOldest(keys: { keys(): IterableIterator<string>; delete(key: string): boolean }): void {
  const oldest = keys.keys().next();
  if (oldest.done !== true) keys.delete(oldest.value);
}
