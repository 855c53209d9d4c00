import type { TLSSocket, Server as TlsServer } from 'node:tls';
import { type Refused, refused } from '../identity-error.ts';
import { createHandshakeThrottle, type HandshakeThrottle } from './handshake-throttle.ts';
import type { AdmitOptions, PeerGuard } from './peer-guard.ts';
import { slowHandshakes } from './slow-handshakes.ts';

/** What is told of connections that were ended, for logs and metrics. */
export type ConnectionEnded = (ended: { readonly why: Refused; readonly address: string | undefined }) => void;

export interface GuardedListener {
  readonly guard: PeerGuard;
  readonly options?: AdmitOptions;
  readonly ended?: ConnectionEnded;
  /** One for all listeners of a process; one of its own unless told. */
  readonly handshakes?: HandshakeThrottle;
}

/**
 * Ends every connection whose peer does not count, at once and later: HTTP/1.1, HTTP/2 and plain TLS alike, whatever runs on
 * it; and slows down where such connections come from. Requests are still admitted one by one: the first can be there before the registry has answered.
 */
export function guardListener(server: TlsServer, { guard, options = {}, ended, handshakes }: GuardedListener): void {
  const throttle = handshakes ?? createHandshakeThrottle();
  slowHandshakes(server, throttle, (address) => ended?.({ why: refused('throttled'), address }));
  server.on('secureConnection', (socket: TLSSocket) => {
    const end = (why: Refused) => {
      const { remoteAddress: address } = socket;
      // SECURITY: T-35 — streams that were open when the device was revoked end here, with their connection; first, whatever
      // becomes of telling it.
      socket.destroy();
      ended?.({ why, address });
    };
    void guard.hold(socket, end, options).then((holding) => {
      if (holding.kind === 'refused') {
        // That the registry does not answer is nobody's failure but ours.
        if (holding.code !== 'registry_unavailable') throttle.failed(socket.remoteAddress);
        return end(holding);
      }
      if (socket.destroyed) return holding.release();
      socket.once('close', () => holding.release());
    });
  });
}
