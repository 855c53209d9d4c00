import type { Clock } from '@palyra/primitives';
import { networkOf } from '../network-of.ts';

/** Slows down whoever keeps failing: by address, loopback included, and by what was tried. */
export interface Throttle {
  /** False: not even looked at. */
  mayTry(attempt: Attempt): boolean;
  failed(attempt: Attempt): void;
  succeeded(attempt: Attempt): void;
}

export interface Attempt {
  /** As the socket has it; undefined for a connection that has none, such as a Unix socket. */
  readonly address: string | undefined;
  /** What was presented, by its id; undefined when not even that could be read. */
  readonly id?: string;
}

export interface ThrottleLimits {
  /** So many failures are let pass… */
  readonly failures: number;
  /** …and one more for each of these. */
  readonly refillMs: number;
  /** Of all addresses together. */
  readonly overall: number;
  readonly overallRefillMs: number;
}

const LIMITS: ThrottleLimits = { failures: 10, refillMs: 6_000, overall: 500, overallRefillMs: 120 };
const MOST_REMEMBERED = 10_000;

interface Bucket {
  readonly spent: number;
  readonly at: number;
}

/**
 * In memory: a restart forgives, and 256 bits are not guessed meanwhile.
 * SECURITY: T-39 — what succeeded from an address a while ago is not shut out by what others try from the same one, or
 * anybody on this host could lock its agents out.
 */
export function createThrottle(clock: Pick<Clock, 'now'>, limits: ThrottleLimits = LIMITS): Throttle {
  const buckets = new Map<string, Bucket>();
  const good = new Set<string>();

  const spentNow = (key: string, refillMs: number): number => {
    const bucket = buckets.get(key);
    if (bucket === undefined) return 0;
    return Math.max(0, bucket.spent - (clock.now() - bucket.at) / refillMs);
  };
  const spend = (key: string, refillMs: number) => {
    const spent = spentNow(key, refillMs) + 1;
    buckets.delete(key);
    if (buckets.size >= MOST_REMEMBERED) forgetOldest(buckets);
    buckets.set(key, { spent, at: clock.now() });
  };

  return {
    mayTry(attempt) {
      const { place, pair } = keysOf(attempt);
      if (spentNow(pair, limits.refillMs) >= limits.failures) return false;
      if (good.has(pair)) return true;
      return (
        spentNow(place, limits.refillMs) < limits.failures && spentNow('', limits.overallRefillMs) < limits.overall
      );
    },
    failed(attempt) {
      const { place, pair } = keysOf(attempt);
      spend(place, limits.refillMs);
      if (pair !== place) spend(pair, limits.refillMs);
      spend('', limits.overallRefillMs);
    },
    succeeded(attempt) {
      const { pair } = keysOf(attempt);
      if (good.size >= MOST_REMEMBERED) forgetOldest(good);
      good.delete(pair);
      good.add(pair);
    },
  };
}

function keysOf({ address = 'local', id }: Attempt): { readonly place: string; readonly pair: string } {
  const place = networkOf(address);
  return { place, pair: id === undefined ? place : `${place} ${id}` };
}

function forgetOldest(keys: { keys(): IterableIterator<string>; delete(key: string): boolean }): void {
  const oldest = keys.keys().next();
  if (oldest.done !== true) keys.delete(oldest.value);
}
