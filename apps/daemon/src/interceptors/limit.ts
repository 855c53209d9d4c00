import type { Interceptor } from '@connectrpc/connect';
import type { Clock } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';
import { type AuthenticatedPeer, peerOf } from './peer-context.ts';
import { relayMessages } from './relay-messages.ts';

/** How much one principal may take, over all its connections. In memory: a restart forgives. */
export interface PrincipalLimits {
  /** One call of the API, until it has ended. Throws `daemon.too_many`. */
  enter(peer: AuthenticatedPeer): { leave(): void };
  /** Undefined when one more message of a stream may be taken, as nearly always; else resolves when, or rejects with the signal's reason. */
  pace(peer: AuthenticatedPeer, signal: AbortSignal): Promise<void> | undefined;
  /** How many calls are open. */
  readonly open: number;
}

export interface PrincipalLimitSettings {
  readonly requests_per_second: number;
  readonly streams_per_principal: number;
}

interface Share {
  open: number;
  /** What is left of this second's messages. */
  left: number;
  at: number;
}

export function createPrincipalLimits(settings: PrincipalLimitSettings, clock: Clock): PrincipalLimits {
  const shares = new Map<string, Share>();
  const { requests_per_second: rate, streams_per_principal: most } = settings;
  let open = 0;

  const shareOf = ({ principal }: AuthenticatedPeer): Share => {
    const share = shares.get(principal) ?? { open: 0, left: rate, at: clock.now() };
    shares.set(principal, share);
    const now = clock.now();
    share.left = Math.min(rate, share.left + (Math.max(0, now - share.at) * rate) / 1000);
    share.at = now;
    return share;
  };
  const takeOne = (peer: AuthenticatedPeer): boolean => {
    const share = shareOf(peer);
    if (share.left < 1) return false;
    share.left -= 1;
    return true;
  };
  const waitForOne = async (peer: AuthenticatedPeer, signal: AbortSignal): Promise<void> => {
    do await clock.sleep(Math.ceil(1000 / rate), signal);
    while (!takeOne(peer));
  };
  return {
    get open() {
      return open;
    },
    enter(peer) {
      const share = shareOf(peer);
      // SECURITY: T-39 — one principal that opens streams, or asks, without end leaves room for the others.
      if (share.open >= most) throw tooMany('has too many calls open at a time', 'limits.streams_per_principal');
      if (share.left < 1) throw tooMany('calls too often', 'limits.requests_per_second');
      share.left -= 1;
      share.open += 1;
      open += 1;
      let isOpen = true;
      return {
        leave() {
          if (!isOpen) return;
          isOpen = false;
          share.open -= 1;
          open -= 1;
          if (share.open === 0 && share.left >= rate) shares.delete(peer.principal);
        },
      };
    },
    pace: (peer, signal) => (takeOne(peer) ? undefined : waitForOne(peer, signal)),
  };
}

/** SECURITY: T-39 — messages of a stream count as calls do, and wait for their turn: the sender is slowed down, not cut off. */
export function paceMessages(limits: Pick<PrincipalLimits, 'pace'>): Interceptor {
  return (next) => async (request) => {
    if (!request.stream) return next(request);
    const peer = peerOf({ values: request.contextValues });
    const { message, signal } = request;
    return next({ ...request, message: relayMessages(message, { each: () => limits.pace(peer, signal) }) });
  };
}

function tooMany(what: string, setting: string): DaemonError {
  return new DaemonError('daemon.too_many', `The caller ${what}.`, {
    fix: `Wait and try again; an operator can raise ${setting}.`,
  });
}
