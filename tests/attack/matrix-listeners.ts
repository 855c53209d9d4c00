import { createPrivateKey } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2, createSecureServer, type Http2SecureServer } from 'node:http2';
import { createServer as createHttpsServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import {
  type AdmitOptions,
  anonymousTlsOptions,
  clientTlsOptions,
  createEnrolmentEndpoint,
  createPeerGuard,
  createServerCertificate,
  createSigningRequest,
  ENROLMENT_PATH,
  type GuardedHandler,
  guardListener,
  guardRequests,
  openTokens,
  type PeerGuard,
  RENEWAL_PATH,
  serverTlsOptions,
  type Throttle,
  tokenServerTlsOptions,
  withAnswerHeaders,
} from '@palyra/identity';
import type { Attempted, RequestOnce } from './certificate-matrix.ts';
import { freshKey, type IdentityHouse } from './identity-house.ts';
import { openTlsHouse } from './pairing-house.ts';

/** The listeners that a house can have beside the one of `identity-listener.ts`, and one try at each. */
export interface MatrixListener extends AsyncDisposable {
  readonly port: number;
}

type House = Pick<IdentityHouse, 'authority' | 'registry' | 'clock'>;

/** As gRPC and Connect will have it; says which device is calling unless told. */
export async function http2Listener(
  house: House,
  { handler = sayDevice, ...options }: AdmitOptions & { readonly handler?: GuardedHandler } = {},
): Promise<MatrixListener> {
  const guard = await createPeerGuard(house);
  const certificate = await createServerCertificate(house);
  const tls = { ...serverTlsOptions(certificate.current()), allowHTTP1: true };
  const server = createSecureServer(tls, guardRequests(handler, { guard, options }) as never);
  guardListener(server, { guard, options });
  certificate.attach(server);
  return listening(server, guard);
}

const sayDevice: GuardedHandler = (_request, response, peer) => void response.end(peer.device);

/** Whatever is no HTTP: it says hello to those it holds. */
export async function streamListener(house: House, options: AdmitOptions): Promise<MatrixListener> {
  const guard = await createPeerGuard(house);
  const certificate = await createServerCertificate(house);
  const server = createServer(serverTlsOptions(certificate.current()));
  const greet = async (socket: TLSSocket) => {
    const holding = await guard.hold(socket, () => socket.destroy(), options);
    if (holding.kind === 'refused') return void socket.destroy();
    holding.release();
    socket.end('hello');
  };
  server.on('secureConnection', (socket: TLSSocket) => void greet(socket.on('error', () => undefined)));
  return listening(server, guard);
}

/** For devices that have a token and no certificate. */
export async function enrolmentListener(
  house: House,
  { throttle }: { readonly throttle?: Throttle } = {},
): Promise<MatrixListener> {
  const certificate = await createServerCertificate(house);
  const tokens = openTokens({ ...house, ...(throttle === undefined ? {} : { throttle }) });
  const enrol = createEnrolmentEndpoint(tokens);
  const handler = withAnswerHeaders((incoming, response) => {
    if (incoming.url === ENROLMENT_PATH || incoming.url === RENEWAL_PATH) return void enrol(incoming, response);
    response.writeHead(404).end();
  });
  const server = createHttpsServer(tokenServerTlsOptions(certificate.current()), handler);
  certificate.attach(server);
  return listening(server);
}

/** Nobody is invited. */
export async function pairingListener(): Promise<MatrixListener> {
  const { listener } = await openTlsHouse();
  return { port: listener.port, [Symbol.asyncDispose]: () => listener.close() };
}

async function listening(server: Server | Http2SecureServer, guard?: PeerGuard): Promise<MatrixListener> {
  const sockets = new Set<TLSSocket>();
  server.on('secureConnection', (socket: TLSSocket) => void sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      guard?.close();
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function tlsOf({ identity, authorities }: RequestOnce) {
  return identity === undefined ? anonymousTlsOptions(authorities) : clientTlsOptions(identity);
}

/** One request for another certificate, for the key of this one. */
export async function renewOnce(port: number, asked: RequestOnce): Promise<Attempted> {
  const { status } = await post(port, { ...asked, path: RENEWAL_PATH, body: await requestFor(asked.identity?.key) });
  return status === 200 ? 'served' : 'refused';
}

export async function requestFor(pem: string = freshKey().pem, name = 'matrix'): Promise<string> {
  const csr = await createSigningRequest({ privateKey: createPrivateKey(pem) });
  return JSON.stringify({ csr: Buffer.from(csr).toString('base64'), name });
}

export interface Posted extends RequestOnce {
  readonly path: string;
  readonly body: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Status 0: no answer. */
export function post(port: number, { path, body, token, ...asked }: Posted): Promise<{ status: number; text: string }> {
  const headers = { ...asked.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path, method: 'POST', agent: false, headers, ...tlsOf(asked) } as const;
    const sent = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('error', () => resolve({ status: 0, text }));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.once('error', () => resolve({ status: 0, text: '' }));
    sent.end(body);
  });
}

export function requestOverHttp2(port: number, asked: RequestOnce): Promise<Attempted> {
  return new Promise((resolve) => {
    const refused = () => {
      resolve('refused');
      session.destroy();
    };
    const session = connectHttp2(`https://127.0.0.1:${port}`, tlsOf(asked)).on('error', refused).on('close', refused);
    const stream = session.request({ ':path': '/' }).on('error', refused);
    stream.once('response', ({ ':status': status }) => {
      resolve(status === 200 ? 'served' : 'refused');
      session.destroy();
    });
  });
}

/** Whether the listener says hello. */
export function helloOnce(port: number, asked: RequestOnce): Promise<Attempted> {
  return talk(connect({ host: '127.0.0.1', port, ...tlsOf(asked) }), 'hello');
}

/** Whether the pairing listener goes on with somebody who shows this certificate, and knows no secret. */
export function pairOnce(port: number, { identity }: RequestOnce): Promise<Attempted> {
  const shown = identity === undefined ? {} : { key: identity.key, cert: identity.certificate };
  const tls = { rejectUnauthorized: false, ALPNProtocols: ['palyra-pairing'], ...shown };
  const socket = connect({ host: '127.0.0.1', port, ...tls });
  const hello = Buffer.from(
    JSON.stringify({ kind: 'hello', versions: [1], nonce: Buffer.alloc(16).toString('base64url'), means: 'pin' }),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32BE(hello.length);
  socket.write(Buffer.concat([length, hello]));
  return talk(socket, 'welcome');
}

async function talk(socket: TLSSocket, wanted: string): Promise<Attempted> {
  let text = '';
  socket
    .on('error', () => undefined)
    .on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (text.includes(wanted)) socket.destroy();
    });
  await new Promise((resolve) => void socket.once('close', resolve));
  return text.includes(wanted) ? 'served' : 'refused';
}
