import { type ContextKey, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { PeerGuard, Tokens } from '@palyra/identity';
import { DaemonError } from '../daemon-error.ts';
import { type AuthenticatedPeer, PEER } from './peer-context.ts';

/** What a request came in on. */
export interface Connection {
  readonly socket: Parameters<PeerGuard['admit']>[0];
  readonly address: string | undefined;
  /** Ends it, with everything on it. */
  end(): void;
}

/** Set by the listener. */
export const CONNECTION: ContextKey<Connection | undefined> = createContextKey<Connection | undefined>(undefined, {
  description: 'what the request came in on',
});

/** Who calls, or why nobody does: throws `daemon.not_authenticated`. */
export type Authenticate = (context: HandlerContext, action: string) => Promise<AuthenticatedPeer>;

/** SECURITY: T-35, T-36 — by the certificate of the connection and the registry of this moment, and by no header. */
export function byCertificate(guard: PeerGuard): Authenticate {
  return async ({ values }) => {
    const connection = values.get(CONNECTION);
    if (connection === undefined) throw refused('The connection is not known.');
    const admission = await guard.admit(connection.socket);
    if (admission.kind === 'refused') throw refused(admission.reason);
    return remember({ ...admission.peer, via: 'certificate' }, values);
  };
}

const BEARER = /^Bearer (\S{1,512})$/i;

/** For listeners that ask for no certificate. */
export function byToken(tokens: Pick<Tokens, 'admit'>): Authenticate {
  return async ({ values, requestHeader }, action) => {
    const [, text = ''] = BEARER.exec(requestHeader.get('authorization') ?? '') ?? [];
    const admission = await tokens.admit({ text, address: values.get(CONNECTION)?.address, action });
    if (admission.kind === 'refused') throw refused(admission.reason);
    return remember({ ...admission.peer, via: 'token' }, values);
  };
}

function remember(peer: AuthenticatedPeer, values: HandlerContext['values']): AuthenticatedPeer {
  values.set(PEER, peer);
  return peer;
}

function refused(reason: string): DaemonError {
  return new DaemonError('daemon.not_authenticated', reason, {
    fix: 'Connect with the credential of a device of this home: palyra device list shows them.',
  });
}
