import { networkOf } from '../network-of.ts';

/** Failures make the next try wait: longer for the peer that failed, and for everybody when many did. */
export interface BackOff {
  /** Milliseconds that this peer has to wait yet; 0 when it may go on. */
  waitFor(peer: string): number;
  /** `tried`: the peer has seen our share and did not prove the secret, which counts against all. */
  failed(peer: string, how: 'tried' | 'garbled'): void;
  succeeded(peer: string): void;
}

interface Failures {
  count: number;
  until: number;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** So many of all peers together are ordinary: people mistype. */
const FREE_FOR_ALL = 10;
const FORGOTTEN_AFTER_MS = 10 * 60_000;
/** An attacker with many addresses must not fill the memory: the count for all holds it up instead. */
const MAX_PEERS = 1_024;

export function createBackOff(now: () => number): BackOff {
  const peers = new Map<string, Failures>();
  const everybody: Failures = { count: 0, until: 0 };

  function fail(failures: Failures, free: number): void {
    if (now() - failures.until > FORGOTTEN_AFTER_MS) failures.count = 0;
    failures.count += 1;
    const beyond = failures.count - free;
    const wait = beyond <= 0 ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (beyond - 1), LONGEST_WAIT_MS);
    failures.until = now() + wait;
  }

  return {
    waitFor(peer) {
      // SECURITY: T-34 — without these two, invitation after invitation could be tried as fast as the network goes.
      return Math.max(0, everybody.until - now(), (peers.get(networkOf(peer))?.until ?? 0) - now());
    },
    failed(peer, how) {
      const network = networkOf(peer);
      const failures = peers.get(network) ?? { count: 0, until: now() };
      fail(failures, 0);
      peers.delete(network);
      peers.set(network, failures);
      const [oldest] = peers.keys();
      if (peers.size > MAX_PEERS && oldest !== undefined) peers.delete(oldest);
      if (how === 'tried') fail(everybody, FREE_FOR_ALL);
    },
    succeeded(peer) {
      peers.delete(networkOf(peer));
    },
  };
}
