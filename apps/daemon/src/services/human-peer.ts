import type { DeciderIdentity } from '@palyra/approvals';
import { DaemonError } from '../daemon-error.ts';
import type { AuthenticatedPeer } from '../interceptors/peer-context.ts';

/** Beside what the policies say: these hold whatever is written there. */

/** SECURITY: T-36 — by the kind in the certificate: no policy and no edited row makes a person of an agent. */
export function isHuman(peer: AuthenticatedPeer): boolean {
  return peer.via === 'certificate' && peer.kind === 'operator';
}

/**
 * Who answers, from the certificate and never from the message. Throws `daemon.not_permitted`.
 * SECURITY: T-06 — a token has no key and an agent is nobody who is asked: neither gets as far as a statement.
 */
export function deciderOf(peer: AuthenticatedPeer): DeciderIdentity & { readonly device: string } {
  if (peer.via !== 'certificate' || peer.kind !== 'operator') throw notHuman();
  return { credential: peer.device, person: peer.principal, device: peer.device, assurance: peer.assurance };
}

/** For what only people do. Throws `daemon.not_permitted`. */
export function requireHuman(peer: AuthenticatedPeer): string {
  if (!isHuman(peer)) throw notHuman();
  return peer.principal;
}

function notHuman(): DaemonError {
  return new DaemonError('daemon.not_permitted', 'Only a person can do this, with the key of their own device.', {
    fix: 'Use the credential of an operator.',
  });
}
