import type { Clock } from '@palyra/primitives';
import { createLeakyBuckets, forgetOldest } from '../leaky-buckets.ts';
import { networkOf } from '../network-of.ts';

/** Slows down whoever keeps failing: by address, loopback included, and by what was tried. */
export interface Throttle {
  /** False: not even looked at. */
  mayTry(attempt: Attempt): boolean;
  failed(attempt: Attempt): void;
  succeeded(attempt: Attempt): void;
  /**
   * For what is looked up: counted as a failure from now on and until it is known to be none, so that of many at once no more
   * are looked at than one after the other. Undefined: not even looked at.
   */
  begin(attempt: Attempt): Trying | undefined;
}

/** One of them is called, once. */
export interface Trying {
  succeeded(): void;
  failed(): void;
  /** Nobody knows, and not through the fault of whoever tried. */
  forget(): void;
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

/**
 * In memory: a restart forgives, and 256 bits are not guessed meanwhile.
 * SECURITY: T-39 — what succeeded from an address a while ago is not shut out by what others try from the same one, or
 * anybody on this host could lock its agents out.
 */
export function createThrottle(clock: Pick<Clock, 'now'>, limits: ThrottleLimits = LIMITS): Throttle {
  const { failures, refillMs, overall, overallRefillMs } = limits;
  const apart = createLeakyBuckets(clock, { capacity: failures, refillMs });
  const together = createLeakyBuckets(clock, { capacity: overall, refillMs: overallRefillMs });
  const good = new Set<string>();

  const mayTry = (attempt: Attempt): boolean => {
    const { place, pair } = keysOf(attempt);
    if (apart.isFull(pair)) return false;
    return good.has(pair) || !(apart.isFull(place) || together.isFull(''));
  };
  const count = (attempt: Attempt, how: 'spend' | 'giveBack'): void => {
    const { place, pair } = keysOf(attempt);
    apart[how](place);
    if (pair !== place) apart[how](pair);
    together[how]('');
  };
  const succeeded = (attempt: Attempt): void => {
    const { pair } = keysOf(attempt);
    if (good.size >= MOST_REMEMBERED) forgetOldest(good);
    good.delete(pair);
    good.add(pair);
  };

  return {
    mayTry,
    failed: (attempt) => count(attempt, 'spend'),
    succeeded,
    begin(attempt) {
      if (!mayTry(attempt)) return undefined;
      // One that was right before may come often at once; that it was wrong is counted when it is known.
      const isKnown = good.has(keysOf(attempt).pair);
      if (!isKnown) count(attempt, 'spend');
      const forget = (): void => (isKnown ? undefined : count(attempt, 'giveBack'));
      return {
        failed: () => (isKnown ? count(attempt, 'spend') : undefined),
        forget,
        succeeded() {
          forget();
          succeeded(attempt);
        },
      };
    },
  };
}

function keysOf({ address = 'local', id }: Attempt): { readonly place: string; readonly pair: string } {
  const place = networkOf(address);
  return { place, pair: id === undefined ? place : `${place} ${id}` };
}
