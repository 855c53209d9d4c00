import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  type CertificateAuthority,
  type ConnectionEnded,
  createPeerGuard,
  createRenewalEndpoint,
  createServerCertificate,
  type DeviceKind,
  guardListener,
  guardRequests,
  type HandshakeThrottle,
  IDENTITY_MIGRATIONS,
  type IdentitySchema,
  type PeerGuard,
  RENEWAL_PATH,
  type Registry,
  type ServerCertificate,
  serverTlsOptions,
} from '@palyra/identity';
import type { Clock } from '@palyra/primitives';
import { type Database, type DatabaseOptions, openDatabase } from '@palyra/storage';

/** A guarded listener as palyrad will have it: `/` says who is calling, `/stream` never ends, and devices renew. */
export interface HouseListener extends AsyncDisposable {
  readonly server: Server;
  readonly port: number;
  readonly guard: PeerGuard;
  readonly certificate: ServerCertificate;
  /** Why connections were ended, in order. */
  readonly ended: string[];
}

export interface ListenerOptions {
  readonly kinds?: readonly DeviceKind[];
  /** What a wrong set-up would have instead. */
  readonly tls?: Partial<ReturnType<typeof serverTlsOptions>>;
  readonly recheckMs?: number;
  readonly patienceMs?: number;
  readonly handshakes?: HandshakeThrottle;
}

interface House {
  readonly authority: CertificateAuthority;
  readonly registry: Registry;
  readonly clock: Clock;
}

export async function listenIn(
  { authority, registry, clock }: House,
  { kinds, tls = {}, recheckMs, patienceMs, handshakes }: ListenerOptions = {},
): Promise<HouseListener> {
  const ended: string[] = [];
  const options = kinds === undefined ? {} : { kinds };
  const guard = await createPeerGuard({
    authority,
    registry,
    clock,
    ...(recheckMs === undefined ? {} : { recheckMs }),
    ...(patienceMs === undefined ? {} : { patienceMs }),
  });
  const certificate = await createServerCertificate({ authority, clock });
  const renew = createRenewalEndpoint({ authority, registry });
  const handler = guardRequests(
    async (request, response, peer) => {
      if (request.url === RENEWAL_PATH) return renew(request, response, peer);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(`${JSON.stringify(peer)}\n`);
      if (request.url !== '/stream') response.end();
    },
    { guard, options },
  );
  const server = createServer({ ...serverTlsOptions(certificate.current()), ...tls }, handler);
  // What ends a connection here is the guard, and not that nobody has spoken for five seconds.
  server.keepAliveTimeout = 0;
  const told = ({ why }: Parameters<ConnectionEnded>[0]) => void ended.push(why.code);
  guardListener(server, { guard, options, ended: told, ...(handshakes === undefined ? {} : { handshakes }) });
  if (Object.keys(tls).length === 0) certificate.attach(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    server,
    port: (server.address() as AddressInfo).port,
    guard,
    certificate,
    ended,
    async [Symbol.asyncDispose]() {
      guard.close();
      certificate.close();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** `as found`: of somebody else, such as palyrad. */
export function openIdentityDatabase(
  location: DatabaseOptions['location'],
  migrations: DatabaseOptions['migrations'] = IDENTITY_MIGRATIONS,
): Promise<Database<IdentitySchema>> {
  return openDatabase<IdentitySchema>({
    location,
    migrations,
    programs: [],
    lockTimeoutMs: 5_000,
    logger: { error: () => undefined },
  });
}
