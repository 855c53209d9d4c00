import type { ConnectRouter, Interceptor } from '@connectrpc/connect';
import type { Config } from '@palyra/config';
import { createPeerGuard, createServerCertificate, rollOver } from '@palyra/identity';
import type { Clock, Logger } from '@palyra/primitives';
import type { ConsoleSessions } from '../console/console-sessions.ts';
import { type Authenticate, byCertificate, byToken } from '../interceptors/authenticate.ts';
import type { Authorizer } from '../interceptors/authorize.ts';
import { type PrincipalLimits, paceMessages } from '../interceptors/limit.ts';
import { logCalls } from '../interceptors/log.ts';
import { mapErrors } from '../interceptors/map-errors.ts';
import { observe, type RpcObserver } from '../interceptors/observe.ts';
import { createRequestGate } from '../interceptors/request-gate.ts';
import { validate } from '../interceptors/validate.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { DaemonIdentity } from '../open-identity.ts';
import type { Telemetry } from '../telemetry/open-telemetry.ts';
import { apiPaths, tokenPaths } from './api-paths.ts';
import type { ListenPlaces } from './listen-places.ts';
import { type ApiDeps, serveApi } from './serve-api.ts';
import { serveConsole } from './serve-console.ts';

export interface Listeners {
  readonly api: string;
  readonly tokens: string | undefined;
  readonly console: string | undefined;
  /** How many are connected to any of them. */
  readonly connections: number;
  /** Hangs up. */
  close(): Promise<void>;
}

export interface ListedListener {
  readonly name: string;
  readonly address: string;
}

export interface ListenersDeps {
  readonly places: ListenPlaces;
  readonly config: Config;
  /** Where the authority is. */
  readonly identityDirectory: string;
  readonly identity: DaemonIdentity;
  readonly authorizer: Authorizer;
  readonly limits: PrincipalLimits;
  readonly telemetry: Telemetry;
  readonly sessions: ConsoleSessions;
  readonly lifecycle: Lifecycle;
  readonly logger: Logger;
  readonly clock: Clock;
  register(router: ConnectRouter): void;
  ready(): Promise<unknown>;
}

/** All that palyrad listens on but pairing, which opens with an invitation. No socket has a name: T-40. */
export async function openListeners(deps: ListenersDeps): Promise<Listeners> {
  const { places, config, identity, logger, clock, limits } = deps;
  await using started = new AsyncDisposableStack();
  const guard = started.adopt(await createPeerGuard({ ...identity, clock }), (each) => each.close());
  const certificate = started.adopt(await openCertificate(deps), (each) => each.close());
  const observers = [logCalls(logger, clock), ...deps.telemetry.rpcs];
  const common = commonOf(deps, observers);
  let consoleAddress: string | undefined;
  const api = started.adopt(
    await serveApi({
      ...common,
      place: places.api,
      gate: gateFor(byCertificate(guard), { ...deps, observers }),
      paths: apiPaths({
        ...deps,
        guard,
        metrics: deps.telemetry.metrics,
        stopping: deps.lifecycle.stopping,
        consoleAddress: () => consoleAddress,
      }),
      tls: { kind: 'mutual', certificate, guard },
    }),
    (each) => each.close(),
  );
  const open: { readonly connections: number }[] = [api];
  let tokenAddress: string | undefined;
  if (places.tokens !== undefined) {
    const tokens = await serveApi({
      ...common,
      place: places.tokens,
      gate: gateFor(byToken(identity.tokens, clock), { ...deps, observers }),
      paths: tokenPaths(deps),
      tls: { kind: 'server', certificate },
    });
    started.adopt(tokens, (each) => each.close());
    open.push(tokens);
    tokenAddress = tokens.address;
  }
  if (places.console !== undefined) {
    const page = await serveConsole({ ...deps, place: places.console, limits: config.limits });
    started.adopt(page, (each) => each.close());
    open.push(page);
    consoleAddress = page.address;
  }
  const { metrics } = deps.telemetry;
  const connections = () => open.reduce((sum, each) => sum + each.connections, 0);
  metrics.follow('palyra_connections', connections);
  metrics.follow('palyra_rpcs_open', () => limits.open);
  const all = started.move();
  return {
    api: api.address,
    tokens: tokenAddress,
    console: consoleAddress,
    get connections() {
      return connections();
    },
    close: () => all.disposeAsync(),
  };
}

function gateFor(
  authenticate: Authenticate,
  deps: ListenersDeps & { readonly observers: readonly RpcObserver[] },
): ApiDeps['gate'] {
  return createRequestGate({ ...deps, authenticate, stopping: deps.lifecycle.stopping });
}

function commonOf(
  { config, logger, lifecycle, limits, register }: ListenersDeps,
  observers: readonly RpcObserver[],
): Pick<ApiDeps, 'limits' | 'logger' | 'stopped' | 'interceptors' | 'register'> {
  // From the outside in: whatever an inner one throws is mapped, and told as the caller is told it.
  const interceptors: readonly Interceptor[] = [observe(observers), mapErrors(logger), paceMessages(limits), validate];
  return { limits: config.limits, logger, stopped: lifecycle.stopped, interceptors, register };
}

async function openCertificate(deps: ListenersDeps): ReturnType<typeof createServerCertificate> {
  const { identity, places, identityDirectory, logger, clock } = deps;
  const certificate = await createServerCertificate({
    authority: identity.authority,
    hosts: [places.api.host],
    clock,
    beforeTending: () => rollOver(identityDirectory, { clock }),
    failed: (error) => logger.error({ error }, 'The certificate of palyrad could not be renewed.'),
  });
  certificate.start();
  return certificate;
}

/** By name, for whoever asks where palyrad is. */
export function listed({ api, tokens, console: page }: Listeners): readonly ListedListener[] {
  const all = { api, tokens, console: page };
  return Object.entries(all).flatMap(([name, address]) => (address === undefined ? [] : [{ name, address }]));
}
