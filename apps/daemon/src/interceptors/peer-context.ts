import { type ContextKey, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { Peer, TokenPeer } from '@palyra/identity';
import { DaemonError } from '../daemon-error.ts';

/** Who calls, proven by the connection's certificate or by a token; nothing in it is the caller's word. */
export type AuthenticatedPeer =
  | (Peer & { readonly via: 'certificate' })
  | (TokenPeer & { readonly via: 'token'; readonly device?: never });

/** Set by `authenticate`, and by nothing else. */
export const PEER: ContextKey<AuthenticatedPeer | undefined> = createContextKey<AuthenticatedPeer | undefined>(
  undefined,
  { description: 'who calls' },
);

/** SECURITY: T-36 — a handler that is reached without a peer answers nobody. */
export function peerOf({ values }: Pick<HandlerContext, 'values'>): AuthenticatedPeer {
  const peer = values.get(PEER);
  if (peer === undefined) throw new DaemonError('daemon.not_authenticated', 'Nobody is known to be calling.');
  return peer;
}
