import type { Caller } from '@palyra/gateway';
import { parseActor } from '@palyra/journal';
import type { AuthenticatedPeer } from '../interceptors/peer-context.ts';

/** SECURITY: T-36, T-41 — all of it from the credential and from what palyrad knows of itself. */
export function callerOf(peer: AuthenticatedPeer, place: Pick<Caller, 'coverage' | 'separation'>): Caller {
  const [type, ...rest] = peer.principal.split(':');
  return {
    principal: { type: type === 'user' ? 'User' : 'Agent', id: rest.join(':') },
    actor: parseActor(peer.principal),
    groups: peer.groups,
    credential: peer.via === 'certificate' ? peer.device : peer.token,
    ...(peer.via === 'certificate' ? { deviceId: peer.device } : {}),
    ...place,
  };
}
