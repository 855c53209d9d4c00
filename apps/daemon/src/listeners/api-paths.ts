import type { ServerResponse } from 'node:http';
import {
  createEnrolmentEndpoint,
  createRenewalEndpoint,
  ENROLMENT_PATH,
  type GuardedHandler,
  guardRequests,
  type Peer,
  type PeerGuard,
  RENEWAL_PATH,
} from '@palyra/identity';
import { AppError, type Logger } from '@palyra/primitives';
import type { ConsoleSessions } from '../console/console-sessions.ts';
import type { Authorizer } from '../interceptors/authorize.ts';
import type { AuthenticatedPeer } from '../interceptors/peer-context.ts';
import type { DaemonIdentity } from '../open-identity.ts';
import type { Metrics } from '../telemetry/create-metrics.ts';
import { type AnyResponse, answer } from './answer.ts';
import type { PathHandler } from './serve-api.ts';

/** Where a browser is invited to the console. */
const CONSOLE_PATH = '/console/v1/open';

export interface ApiPathsDeps {
  readonly identity: DaemonIdentity;
  readonly guard: PeerGuard;
  readonly authorizer: Pick<Authorizer, 'require'>;
  readonly metrics: Pick<Metrics, 'render'>;
  readonly logger: Pick<Logger, 'error'>;
  readonly stopping: AbortSignal;
  /** Rejects when something that every call needs does not answer. */
  ready(): Promise<unknown>;
  readonly sessions: ConsoleSessions;
  /** Undefined: the console is not served. */
  consoleAddress(): string | undefined;
}

/** Beside the calls of the API, on the listener that knows its peers by their certificates. */
export function apiPaths(deps: ApiPathsDeps): Readonly<Record<string, PathHandler>> {
  const { identity, guard, authorizer, metrics, sessions, logger } = deps;
  const guarded = (handler: GuardedHandler): PathHandler => guardRequests(handler, { guard }) as PathHandler;
  const may = (peer: Peer, action: string) => {
    const known: AuthenticatedPeer = { ...peer, via: 'certificate' };
    authorizer.require(known, { action, resource: { type: 'Workspace', id: 'any' }, isOwn: false });
  };
  return {
    '/healthz': guarded((_request, response) => answer(response, { status: 200, text: 'ok\n' })),
    '/readyz': guarded((_request, response) => answerReady(response, deps)),
    '/metrics': guarded((_request, response, peer) =>
      orRefused(response, logger, async () => {
        may(peer, 'daemon.metrics');
        answer(response, { status: 200, ...(await metrics.render()) });
      }),
    ),
    [RENEWAL_PATH]: guarded(createRenewalEndpoint(identity)),
    [CONSOLE_PATH]: guarded((request, response, peer) =>
      orRefused(response, logger, async () => {
        may(peer, 'console.open');
        const address = deps.consoleAddress();
        if (address === undefined || request.method !== 'POST') {
          return answer(response, { status: 404, text: 'The console is not served: set daemon.console.\n' });
        }
        const { code, expiresAt } = sessions.invite(peer.device);
        // SECURITY: T-48 — in the fragment: no server is ever sent it, and no log has it.
        const body = { url: `http://${address}/#${code}`, expires_at: new Date(expiresAt).toISOString() };
        answer(response, { status: 200, text: `${JSON.stringify(body)}\n`, type: 'application/json' });
      }),
    ),
  };
}

/** On the listener of clients that have a token, or come to get a certificate for one. */
export function tokenPaths({ identity }: Pick<ApiPathsDeps, 'identity'>): Readonly<Record<string, PathHandler>> {
  const enrol = createEnrolmentEndpoint(identity.tokens);
  return {
    '/healthz': (_request, response) => answer(response, { status: 200, text: 'ok\n' }),
    [ENROLMENT_PATH]: (request, response) =>
      void enrol(request as Parameters<typeof enrol>[0], response as Parameters<typeof enrol>[1]),
  };
}

async function answerReady(response: ServerResponse, { ready, stopping }: ApiPathsDeps): Promise<void> {
  const isReady =
    !stopping.aborted &&
    (await ready().then(
      () => true,
      () => false,
    ));
  answer(response, isReady ? { status: 200, text: 'ready\n' } : { status: 503, text: 'not ready\n' });
}

async function orRefused(
  response: AnyResponse,
  logger: Pick<Logger, 'error'>,
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof AppError)) {
      logger.error({ error }, 'A request failed.');
      return answer(response, { status: 500, text: 'Something went wrong.\n' });
    }
    const body = { error: { code: error.code, message: error.message, fix: error.fix } };
    const status = error.code === 'daemon.too_many' ? 429 : 403;
    answer(response, { status, text: `${JSON.stringify(body)}\n`, type: 'application/json' });
  }
}
