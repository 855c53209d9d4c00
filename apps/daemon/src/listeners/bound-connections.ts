import type { Server, Socket } from 'node:net';

export interface ConnectionLimits {
  readonly connections: number;
  readonly connections_per_address: number;
}

/** Every connection of a server, those included that have said nothing yet. */
export interface BoundConnections {
  readonly count: number;
  /** Hangs up on all of them. */
  endAll(): void;
}

/** How often a connection is asked whether anybody is still there, by TCP. */
const ALIVE_MS = 30_000;

/** SECURITY: T-39 — places are bounded, and one address has only some of them; who is not there any more has none. */
export function boundConnections(server: Server, limits: ConnectionLimits): BoundConnections {
  const open = new Map<Socket, string>();
  const ofAddress = new Map<string, number>();
  const count = (address: string, change: number) => {
    const left = (ofAddress.get(address) ?? 0) + change;
    if (left === 0) ofAddress.delete(address);
    else ofAddress.set(address, left);
  };
  server.on('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress);
    socket.on('error', () => undefined);
    if (open.size >= limits.connections || (ofAddress.get(address) ?? 0) >= limits.connections_per_address) {
      socket.destroy();
      return;
    }
    socket.setKeepAlive(true, ALIVE_MS);
    open.set(socket, address);
    count(address, 1);
    socket.once('close', () => {
      if (open.delete(socket)) count(address, -1);
    });
  });
  return {
    get count() {
      return open.size;
    },
    endAll() {
      for (const socket of open.keys()) socket.destroy();
    },
  };
}

/** The 127/8 are one host, and an IPv4 address is the same however it is written. */
function plainAddress(address = ''): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  return plain.startsWith('127.') || plain === '::1' ? 'loopback' : plain;
}
