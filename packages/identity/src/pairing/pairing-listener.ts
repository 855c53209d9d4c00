import { constants, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { type Clock, type Sha256Hex, sha256Hex } from '@palyra/primitives';
import { networkOf } from '../network-of.ts';
import { createBackOff } from './back-off.ts';
import { type HostDeps, hostPairing } from './host-pairing.ts';
import { createInvitationBook, type InvitationBook } from './invitations.ts';
import type { ListenerCredential } from './listener-credential.ts';
import { PairingError } from './pairing-error.ts';

/** What TLS calls the protocol, so that neither side takes another server or client for the other one. */
export const PAIRING_ALPN = 'palyra-pairing';
/** RFC 9266. */
export const EXPORTER_LABEL = 'EXPORTER-Channel-Binding';
export const EXPORTER_BYTES = 32;

export interface PairingListenerDeps extends Omit<HostDeps, 'book' | 'backOff' | 'ca'> {
  /** The CA that issues; the first, where there are several. */
  readonly caPem: string;
  /** Devices believe none: who the host is, is proven by the secret. Scanners, and whoever knows the CA, can check it. */
  readonly credential: ListenerCredential;
}

export interface PairingPlace {
  /** All of this machine's addresses unless told. */
  readonly host?: string;
  /** 0 takes any that is free. */
  readonly port: number;
}

export interface PairingListener extends Pick<InvitationBook, 'invite' | 'list' | 'cancel'> {
  readonly port: number;
  /** SHA-256 of the CA's certificate, for join URLs. */
  readonly ca: Sha256Hex;
  /** Cancels what is open, and hangs up. */
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 32;
const MAX_CONNECTIONS_PER_PEER = 4;

/** Throws `pairing.unreachable` when it cannot listen there. */
export async function openPairingListener(deps: PairingListenerDeps, place: PairingPlace): Promise<PairingListener> {
  const { clock, randomBytes, deadlines } = deps;
  const book = createInvitationBook({ clock, randomBytes });
  const ca = sha256Hex(new X509Certificate(deps.caPem).raw);
  const host: HostDeps = { ...deps, book, ca, backOff: createBackOff(clock.now) };
  const server = createTlsServer(deps.credential, deadlines.handshakeMs);
  const sockets = limitConnections(server);
  const runs = new Map<TLSSocket, Promise<void>>();
  server.on('secureConnection', (socket: TLSSocket) => {
    runs.set(
      socket,
      serve(socket, host).finally(() => runs.delete(socket)),
    );
  });
  await listen(server, place);
  return {
    port: (server.address() as AddressInfo).port,
    ca,
    invite: book.invite,
    list: book.list,
    cancel: book.cancel,
    async close() {
      if (!server.listening) return;
      for (const { id } of book.list()) book.cancel(id);
      const closed = once(server, 'close');
      server.close();
      await leave(runs, clock);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

const FAREWELL_MS = 1_000;

/** Whoever was just told why it is refused shall hear it; whoever does not hang up then is not waited for. */
async function leave(runs: ReadonlyMap<TLSSocket, Promise<void>>, clock: Clock): Promise<void> {
  for (const socket of runs.keys()) socket.end();
  const over = new AbortController();
  const patience = clock.sleep(FAREWELL_MS, over.signal).catch(() => undefined);
  await Promise.race([Promise.all(runs.values()), patience]);
  over.abort();
}

function createTlsServer(
  { certificatePem, privateKeyPem }: PairingListenerDeps['credential'],
  handshakeTimeout: number,
): Server {
  const server = createServer({
    cert: certificatePem,
    key: privateKeyPem,
    minVersion: 'TLSv1.3',
    ALPNProtocols: [PAIRING_ALPN],
    // SECURITY: T-34 — a connection that never finishes its handshake is dropped.
    handshakeTimeout,
    // SECURITY: T-55 — no tickets: every connection has its own handshake, and with it its own channel binding.
    secureOptions: constants.SSL_OP_NO_TICKET,
  });
  server.on('tlsClientError', (_error: Error, socket: TLSSocket) => socket.destroy());
  return server;
}

/** All that are open, those included that have not said anything yet. */
function limitConnections(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  const networks = new Map<Socket, string>();
  server.on('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    const ofPeer = [...networks.values()].filter((other) => other === network).length;
    socket.on('error', () => undefined);
    // SECURITY: T-34 — places are few, and one peer has only some of them, or it could keep everybody else out.
    if (sockets.size >= MAX_CONNECTIONS || ofPeer >= MAX_CONNECTIONS_PER_PEER) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    networks.set(socket, network);
    socket.on('close', () => {
      sockets.delete(socket);
      networks.delete(socket);
    });
  });
  return sockets;
}

async function serve(socket: TLSSocket, host: HostDeps): Promise<void> {
  socket.on('error', () => undefined);
  if (socket.alpnProtocol !== PAIRING_ALPN) {
    socket.destroy();
    return;
  }
  const peer = (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
  const exporter = socket.exportKeyingMaterial(EXPORTER_BYTES, EXPORTER_LABEL, Buffer.alloc(0));
  await hostPairing({ stream: socket, exporter, peer }, host);
  await hungUp(socket, host);
}

/** A peer that does not take its leave is shown out. */
async function hungUp(socket: TLSSocket, { clock, deadlines }: HostDeps): Promise<void> {
  if (socket.destroyed) return;
  const closed = new AbortController();
  socket.once('close', () => closed.abort());
  await clock.sleep(deadlines.stepMs, closed.signal).catch(() => undefined);
  socket.destroy();
}

async function listen(server: Server, { host, port }: PairingPlace): Promise<void> {
  try {
    server.listen({ port, ...(host === undefined ? {} : { host }) });
    await once(server, 'listening');
  } catch (cause) {
    throw new PairingError('pairing.unreachable', 'The pairing listener cannot listen there.', {
      fix: 'Choose another address or port; one that is in use, or is not of this machine, cannot be taken.',
      cause,
    });
  }
}
