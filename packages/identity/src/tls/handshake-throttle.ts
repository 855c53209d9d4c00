import { type Clock, systemClock } from '@palyra/primitives';
import { createLeakyBuckets } from '../leaky-buckets.ts';
import { networkOf } from '../network-of.ts';

/** Makes connections wait that come from where many failed of late. One for all listeners of a process. */
export interface HandshakeThrottle {
  /** A connection got nowhere: no handshake, no certificate of ours, or one that does not count. */
  failed(address: string | undefined): void;
  /** Resolves when its handshake may begin: at once, unless many from there failed. False: one too many wait already. */
  enter(address: string | undefined, gone: AbortSignal): Promise<boolean> | boolean;
}

export interface HandshakeLimits {
  /** So many failures of one network are let pass… */
  readonly failures: number;
  /** …and one more for each of these. */
  readonly refillMs: number;
  /** How long each connection from there waits then. */
  readonly waitMs: number;
  /** How many from there wait at once; the others are dropped. */
  readonly waiting: number;
}

/** Five a second are what a client does that does not understand that it was revoked; a scan makes hundreds. */
const LIMITS: HandshakeLimits = { failures: 50, refillMs: 200, waitMs: 1_000, waiting: 64 };

/**
 * A certificate is not guessed, so this saves work and no secret: of a flood, as many handshakes a second are made as may wait.
 * SECURITY: T-39 — slow, and not shut: who is behind a connection is not known before its handshake, and on loopback whoever
 * fails on purpose has the operator for a neighbour.
 */
export function createHandshakeThrottle(
  clock: Clock = systemClock,
  { failures, refillMs, waitMs, waiting: most }: HandshakeLimits = LIMITS,
): HandshakeThrottle {
  const failed = createLeakyBuckets(clock, { capacity: failures, refillMs });
  const waiting = new Map<string, number>();
  const change = (network: string, by: number): void => {
    const count = (waiting.get(network) ?? 0) + by;
    if (count === 0) waiting.delete(network);
    else waiting.set(network, count);
  };
  const wait = async (network: string, gone: AbortSignal): Promise<true> => {
    change(network, 1);
    await clock.sleep(waitMs, gone).catch(() => undefined);
    change(network, -1);
    return true;
  };
  return {
    failed: (address) => failed.spend(networkOf(address ?? '')),
    enter(address, gone) {
      const network = networkOf(address ?? '');
      if (!failed.isFull(network)) return true;
      return (waiting.get(network) ?? 0) < most && wait(network, gone);
    },
  };
}
