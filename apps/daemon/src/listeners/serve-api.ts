import { once } from 'node:events';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type ConnectRouter, type ContextValues, createConnectRouter, type Interceptor } from '@connectrpc/connect';
import type { Config } from '@palyra/config';
import {
  guardListener,
  type PeerGuard,
  type ServerCertificate,
  serverTlsOptions,
  tokenServerTlsOptions,
} from '@palyra/identity';
import { type Logger, systemClock } from '@palyra/primitives';
import { createCalmLog } from '../calm-log.ts';
import { DaemonError } from '../daemon-error.ts';
import { CONNECTION, type Connection } from '../interceptors/authenticate.ts';
import type { createRequestGate } from '../interceptors/request-gate.ts';
import { createRequestValues } from '../wire/request-values.ts';
import { type AnyRequest, type AnyResponse, answer } from './answer.ts';
import { boundConnections } from './bound-connections.ts';
import { boundBody, handleConnect, pathOf } from './handle-connect.ts';
import { keepSessionsHonest } from './keep-sessions-honest.ts';
import { type ListenPlace, renderPlace } from './listen-place.ts';

export interface ApiListener {
  /** Host and port. */
  readonly address: string;
  /** How many are connected. */
  readonly connections: number;
  /** Takes no more, lets what is under way end for a moment, and hangs up. */
  close(): Promise<void>;
}

export interface ApiDeps {
  readonly place: ListenPlace;
  readonly limits: Config['limits'];
  readonly logger: Logger;
  /** Aborted when palyrad ends, and with it whatever streams. */
  readonly stopped: AbortSignal;
  readonly gate: ReturnType<typeof createRequestGate>;
  readonly interceptors: readonly Interceptor[];
  /** The services. */
  register(router: ConnectRouter): void;
  /** What is served beside them, by path. */
  readonly paths: Readonly<Record<string, PathHandler>>;
  readonly tls: ApiTls;
}

export type PathHandler = (request: AnyRequest, response: AnyResponse) => void;

/** `mutual`: certificates both ways, and whoever stops counting is hung up on. `server`: for clients with tokens. */
export type ApiTls =
  | { readonly kind: 'mutual'; readonly certificate: ServerCertificate; readonly guard: PeerGuard }
  | { readonly kind: 'server'; readonly certificate: ServerCertificate };

const HEADER_BYTES = 16 * 1024;
const HEADERS_MS = 10_000;
const CHECK_EVERY_MS = 1_000;
const FAREWELL_MS = 1_000;
/** Of one message: enough for the largest call, and what a client asks for beyond is not waited for. */
const LONGEST_TIMEOUT_MS = 24 * 3_600_000;

/** Connect, gRPC and gRPC-web on HTTP/2, and Connect on HTTP/1.1. Throws `daemon.cannot_listen`. */
export async function serveApi(deps: ApiDeps): Promise<ApiListener> {
  const { limits, logger, tls, place } = deps;
  const router = createConnectRouter({
    requestGate: deps.gate,
    interceptors: [...deps.interceptors],
    readMaxBytes: limits.message_bytes,
    writeMaxBytes: limits.message_bytes,
    maxTimeoutMs: LONGEST_TIMEOUT_MS,
    // SECURITY: T-39 — nothing is unpacked: a small message is a small message.
    acceptCompression: [],
    shutdownSignal: deps.stopped,
  });
  deps.register(router);
  const serveCall = handleConnect({
    router,
    logger,
    contextValues: connectionOf,
    bodyMs: limits.request_seconds * 1000,
    messageBytes: limits.message_bytes,
  });
  const server = createServer(deps, (request, response) => {
    const path = pathOf(request);
    // SECURITY: T-39 — only what is ours: every object has a `constructor`, and over HTTP/2 a path may be any word.
    const other = Object.hasOwn(deps.paths, path) ? deps.paths[path] : undefined;
    if (other !== undefined) {
      boundBody(request, response, limits.request_seconds * 1000);
      return other(request, response);
    }
    if (!serveCall(request, response)) answer(response, { status: 404, text: 'There is nothing here.\n' });
  });
  const connections = boundConnections(server, limits);
  const sessions = followSessions(server);
  keepSessionsHonest(server);
  const calm = createCalmLog(logger, systemClock);
  if (tls.kind === 'mutual') {
    guardListener(server, {
      guard: tls.guard,
      ended: ({ why, address }) => calm.warn(why.code, { reason: why.code, address }, 'A connection was ended.'),
    });
  }
  tls.certificate.attach(server);
  await listen(server, place);
  const { port } = server.address() as AddressInfo;
  return {
    address: renderPlace({ host: place.host, port }),
    get connections() {
      return connections.count;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const session of sessions) session.close();
      const late = setTimeout(connections.endAll, FAREWELL_MS);
      await closed;
      clearTimeout(late);
    },
  };
}

function createServer(
  { tls, limits }: Pick<ApiDeps, 'tls' | 'limits'>,
  handle: (request: AnyRequest, response: AnyResponse) => void,
): Http2SecureServer {
  const server = createSecureServer(
    {
      ...tlsOptions(tls),
      allowHTTP1: true,
      settings: { maxConcurrentStreams: limits.streams_per_connection, maxHeaderListSize: HEADER_BYTES },
      maxHeaderSize: HEADER_BYTES,
      headersTimeout: Math.min(HEADERS_MS, limits.request_seconds * 1000),
      requestTimeout: limits.request_seconds * 1000,
      connectionsCheckingInterval: CHECK_EVERY_MS,
      unknownProtocolTimeout: HEADERS_MS,
    } as Parameters<typeof createSecureServer>[0],
    handle,
  );
  // Each is about one client, who is hung up on; a listener must be there, or palyrad would end.
  server.on('sessionError', () => undefined);
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  server.on('clientError', (_error: Error, socket: { destroy(): void }) => socket.destroy());
  return server;
}

/** SECURITY: T-35 — certificates both ways, or tokens alone: one listener never takes the one for the other. */
function tlsOptions({ kind, certificate }: ApiTls): ReturnType<typeof serverTlsOptions> {
  const current = certificate.current();
  return kind === 'mutual' ? serverTlsOptions(current) : tokenServerTlsOptions(current);
}

/** Who called is looked up by what the request came in on. */
function connectionOf(request: AnyRequest): ContextValues {
  const { socket } = request;
  const connection: Connection = {
    socket: socket as unknown as Connection['socket'],
    address: socket.remoteAddress,
    end: () => void ('stream' in request ? request.stream.session?.destroy() : socket.destroy()),
  };
  return createRequestValues().set(CONNECTION, connection);
}

function followSessions(server: Http2SecureServer): ReadonlySet<ServerHttp2Session> {
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  return sessions;
}

async function listen(server: Http2SecureServer, { host, port }: ListenPlace): Promise<void> {
  try {
    server.listen({ host, port });
    await once(server, 'listening');
  } catch (cause) {
    throw new DaemonError('daemon.cannot_listen', `palyrad cannot listen on ${renderPlace({ host, port })}.`, {
      fix: 'Choose another address or port in daemon.listen: one that is in use, or is not of this host, cannot be taken.',
      cause,
    });
  }
}
