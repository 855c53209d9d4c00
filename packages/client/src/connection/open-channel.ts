import { connect, type Socket } from 'node:net';
import type { DescMethodBiDiStreaming } from '@bufbuild/protobuf';
import { Code, ConnectError, type Interceptor, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createNodeHttpClient, Http2SessionManager } from '@connectrpc/connect-node';
import { clientClosed } from '../client-error.ts';
import { clientTls, type TlsFiles } from './client-tls.ts';
import { type Exchange, exchangeMessages } from './exchange-messages.ts';
import { translateError } from './translate-error.ts';

/** Where palyrad is and how to prove who we are: a certificate with its key, or a token. */
export type Endpoint =
  | {
      readonly address: string;
      readonly tls: Pick<TlsFiles, 'ca'> & Partial<TlsFiles>;
      readonly token?: string;
    }
  /** In a box of Palyra's: the listener there is palyrad's own, and who comes in by it is known by that. */
  | { readonly listener: string };

/** Said first, to the listener of a box; what follows is for palyrad. As `packages/egress/src/wire/door.ts` has it. */
const DOOR_WORD = 'PALYRA1\n';

/** One connection to palyrad at a time; a new one when it is lost, to wherever palyrad is by then. */
export interface Channel {
  readonly transport: Transport;
  /** A call with messages both ways, faster than by the transport. Throws as that does. */
  exchange: MessageExchange;
  /** Throws `client.unreachable`, `client.server_not_proven`, and what finding the endpoint throws. */
  connect(): Promise<void>;
  /** Ends the connection and everything on it. */
  close(): void;
}

export type MessageExchange = <Method extends DescMethodBiDiStreaming>(
  exchange: Exchange<Method>,
) => ReturnType<typeof exchangeMessages<Method>>;

interface Connection {
  readonly manager: Http2SessionManager;
  readonly transport: Transport;
  readonly exchange: MessageExchange;
}

const CONNECT_WITHIN_MS = 10_000;
const PING_EVERY_MS = 30_000;
/** A result with all its output; more than that is not palyrad's. */
const LARGEST_MESSAGE = 64 * 1024 * 1024;

/** `find` is asked again for each connection: palyrad's port and the certificate may be others by then. */
export function openChannel(find: () => Endpoint): Channel {
  let current: Connection | undefined;
  let isClosed = false;

  function connection(): Connection {
    if (isClosed) throw clientClosed();
    const state = current?.manager.state();
    if (current === undefined || state === 'closed' || state === 'error') current = dial(find());
    return current;
  }
  return {
    transport: {
      async unary(method, signal, timeoutMs, header, input, contextValues) {
        return connection().transport.unary(method, signal, timeoutMs, header, input, contextValues);
      },
      async stream(method, signal, timeoutMs, header, input, contextValues) {
        return connection().transport.stream(method, signal, timeoutMs, header, input, contextValues);
      },
    },
    async *exchange(exchange) {
      yield* connection().exchange(exchange);
    },
    async connect() {
      const { manager } = connection();
      const tooLong = setTimeout(
        () => manager.abort(new ConnectError('Nobody answers.', Code.Unavailable)),
        CONNECT_WITHIN_MS,
      );
      const state = await manager.connect().finally(() => clearTimeout(tooLong));
      if (state === 'error') throw translateError(manager.error());
    },
    close() {
      isClosed = true;
      current?.manager.abort();
    },
  };
}

function dial(endpoint: Endpoint): Connection {
  const isBoxed = 'listener' in endpoint;
  const baseUrl = isBoxed ? `http://${endpoint.listener}` : `https://${endpoint.address}`;
  const token = isBoxed ? undefined : endpoint.token;
  // A dead peer is noticed by its silence.
  const manager = new Http2SessionManager(
    baseUrl,
    { pingIntervalMs: PING_EVERY_MS },
    isBoxed ? { createConnection: (authority: URL) => knock(authority) } : clientTls(endpoint.tls),
  );
  // At once: the manager calls itself closed until somebody asks it to connect. It keeps the error for the request that meets it.
  void manager.connect();
  const transport = createConnectTransport({
    // Measured over mTLS: a unary call takes a quarter less than by gRPC, which ends with trailers; streams take the same.
    baseUrl,
    httpVersion: '2',
    sessionManager: manager,
    readMaxBytes: LARGEST_MESSAGE,
    // Between processes of one host, mostly: packing costs more than it saves.
    acceptCompression: [],
    interceptors: token === undefined ? [] : [presenting(token)],
  });
  const exchange = openExchange({ baseUrl, manager, headers: token === undefined ? {} : credentialOf(token) });
  return { manager, transport, exchange };
}

export interface OpenedExchange {
  readonly baseUrl: string;
  readonly manager: Http2SessionManager;
  readonly headers?: Readonly<Record<string, string>>;
}

/** On the connection of a transport. */
export function openExchange({ baseUrl, manager, headers = {} }: OpenedExchange): MessageExchange {
  const httpClient = createNodeHttpClient({ httpVersion: '2', sessionProvider: () => manager });
  return (exchange) => exchangeMessages(exchange, { baseUrl, httpClient, headers, most: LARGEST_MESSAGE });
}

function knock({ hostname, port }: URL): Socket {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  socket.write(DOOR_WORD);
  return socket;
}

function presenting(token: string): Interceptor {
  return (next) => (request) => {
    for (const [name, value] of Object.entries(credentialOf(token))) request.header.set(name, value);
    return next(request);
  };
}

function credentialOf(token: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token}` };
}
