import type { Caller } from '@palyra/gateway';
import { parseActor } from '@palyra/journal';
import type { AuthenticatedPeer } from '../interceptors/peer-context.ts';

/** SECURITY: T-36, T-41 — all of it from the credential and from what palyrad knows of itself. */
export function callerOf(peer: AuthenticatedPeer, place: Pick<Caller, 'coverage' | 'separation' | 'isBoxed'>): Caller {
  return {
    principal: principalOf(peer),
    actor: parseActor(peer.principal),
    groups: peer.groups,
    credential: peer.via === 'certificate' ? peer.device : peer.token,
    ...(peer.via === 'certificate' ? { deviceId: peer.device } : {}),
    ...place,
  };
}

/** SECURITY: T-36 — to policies a service is an agent, and none of the same name: `service:ci` is not `agent:ci`. */
function principalOf({ principal }: Pick<AuthenticatedPeer, 'principal'>): Caller['principal'] {
  const [type = '', ...rest] = principal.split(':');
  const name = rest.join(':');
  if (type === 'user') return { type: 'User', id: name };
  return { type: 'Agent', id: type === 'agent' ? name : principal };
}
