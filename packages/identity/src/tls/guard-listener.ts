import type { TLSSocket, Server as TlsServer } from 'node:tls';
import type { Refused } from '../identity-error.ts';
import type { AdmitOptions, PeerGuard } from './peer-guard.ts';

/** What is told of connections that were ended, for logs and metrics. */
export type ConnectionEnded = (ended: { readonly why: Refused; readonly address: string | undefined }) => void;

export interface GuardedListener {
  readonly guard: PeerGuard;
  readonly options?: AdmitOptions;
  readonly ended?: ConnectionEnded;
}

/**
 * Ends every connection whose peer does not count, at once and later: HTTP/1.1, HTTP/2 and plain TLS alike, whatever runs on
 * it. Requests are still admitted one by one: the first can be there before the registry has answered.
 */
export function guardListener(server: TlsServer, { guard, options = {}, ended }: GuardedListener): void {
  server.on('secureConnection', (socket: TLSSocket) => {
    const end = (why: Refused) => {
      const { remoteAddress: address } = socket;
      // SECURITY: T-35 — streams that were open when the device was revoked end here, with their connection; first, whatever
      // becomes of telling it.
      socket.destroy();
      ended?.({ why, address });
    };
    void guard.hold(socket, end, options).then((holding) => {
      if (holding.kind === 'refused') return end(holding);
      if (socket.destroyed) return holding.release();
      socket.once('close', () => holding.release());
    });
  });
}
