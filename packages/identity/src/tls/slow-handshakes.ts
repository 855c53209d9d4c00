import type { Socket } from 'node:net';
import type { TLSSocket, Server as TlsServer } from 'node:tls';
import type { HandshakeThrottle } from './handshake-throttle.ts';

/** What is told of a connection that was dropped before its handshake. */
export type Dropped = (address: string | undefined) => void;

/**
 * Puts the throttle between the listener and its handshakes, and tells it which of them fail. Whatever else listens for
 * `connection` hears of each at once, and may end it.
 */
export function slowHandshakes(server: TlsServer, throttle: HandshakeThrottle, dropped: Dropped): void {
  const proven = new Set<string>();
  const handshake = takeHandshake(server);
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address } = socket;
    if (socket.destroyed) return;
    const name = nameOf(socket);
    const gone = new AbortController();
    socket.on('error', () => undefined);
    socket.once('close', () => {
      gone.abort('closed');
      if (!proven.delete(name)) throttle.failed(address);
    });
    const entered = throttle.enter(address, gone.signal);
    if (entered === true) return handshake(socket);
    void Promise.resolve(entered).then((isLet) => {
      if (isLet && server.listening && !socket.destroyed) return handshake(socket);
      socket.destroy();
      if (!isLet) dropped(address);
    });
  });
  server.on('secureConnection', (socket: TLSSocket) => void proven.add(nameOf(socket)));
}

/** TLS itself is the first that listens for connections: the server is made with it. */
function takeHandshake(server: TlsServer): (socket: Socket) => void {
  const [first] = server.listeners('connection') as ((socket: Socket) => void)[];
  if (first === undefined) throw new Error('This is no TLS server.');
  server.off('connection', first);
  return (socket) => first.call(server, socket);
}

/** The two ends of the same connection have it in common: which TLS socket is on which other one, Node does not tell. */
function nameOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}
