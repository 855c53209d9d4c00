import { type ContextKey, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { PeerGuard, Tokens } from '@palyra/identity';
import type { Clock } from '@palyra/primitives';
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
export function byToken(tokens: Pick<Tokens, 'admit'>, clock: Clock): Authenticate {
  return async ({ values, requestHeader, method, signal }, action) => {
    const connection = values.get(CONNECTION);
    const [, text = ''] = BEARER.exec(requestHeader.get('authorization') ?? '') ?? [];
    const presented = { text, address: connection?.address, action };
    const admission = await tokens.admit(presented);
    if (admission.kind === 'refused') throw refused(admission.reason);
    if (method.methodKind !== 'unary') {
      void endWithToken(async () => (await tokens.admit(presented)).kind === 'admitted', { connection, signal, clock });
    }
    return remember({ ...admission.peer, via: 'token' }, values);
  };
}

interface OpenStream {
  readonly connection: Connection | undefined;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

const LOOK_EVERY_MS = 1_000;

/** SECURITY: T-36 — what is open when its token is revoked, or runs out, ends: looked at every second, as nobody tells. */
async function endWithToken(
  stillCounts: () => Promise<boolean>,
  { connection, signal, clock }: OpenStream,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    if (!(await stillCounts().catch(() => false))) return connection?.end();
  }
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
