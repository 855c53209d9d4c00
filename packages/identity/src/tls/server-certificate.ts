import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Server as TlsServer } from 'node:tls';
import { type Clock, systemClock } from '@palyra/primitives';
import { renewalDueAt } from '../ca/lifetimes.ts';
import type { CertificateAuthority, IssuedCertificate } from '../ca/open-authority.ts';
import { serverTlsOptions, type TlsIdentity } from './tls-options.ts';

/** The daemon's own certificate, which renews itself. */
export interface ServerCertificate {
  /** What is in use now. */
  current(): TlsIdentity;
  /** From now on the listener has the newest, without dropping a connection. */
  attach(server: TlsServer): void;
  /** What is due: another certificate, or another list of authorities. Resolves to what changed. */
  tend(): Promise<'renewed' | 'other authorities' | 'nothing due'>;
  /** Tends for as long as it is open. */
  start(): void;
  close(): void;
}

export interface ServerCertificateDeps {
  readonly authority: CertificateAuthority;
  /** Host names and addresses that other programs than ours know the daemon by. */
  readonly hosts?: readonly string[];
  readonly clock?: Clock;
  /** Before each look, such as rolling the authority over when that is due. */
  readonly beforeTending?: () => Promise<unknown>;
  readonly failed?: (error: unknown) => void;
}

const LOOPBACK = ['localhost', '127.0.0.1', '::1'];
const LOOK_EVERY_MS = 3_600_000;

export async function createServerCertificate(deps: ServerCertificateDeps): Promise<ServerCertificate> {
  const { authority, hosts = [], clock = systemClock, beforeTending, failed } = deps;
  const servers = new Set<TlsServer>();
  const closing = new AbortController();
  const names = [...new Set([...LOOPBACK, ...hosts])];
  let inUse = await issue(authority, names);

  const swap = () => {
    // New handshakes have the new certificate; what is open goes on with the keys it has agreed on.
    for (const server of servers) server.setSecureContext(serverTlsOptions(inUse.identity));
  };
  const certificate: ServerCertificate = {
    current: () => inUse.identity,
    attach(server) {
      servers.add(server);
      server.once('close', () => servers.delete(server));
      server.setSecureContext(serverTlsOptions(inUse.identity));
    },
    async tend() {
      await beforeTending?.();
      const [first] = authority.trusted();
      if (clock.now() >= renewalDueAt(inUse.issued) || first?.id !== inUse.signer) {
        inUse = await issue(authority, names);
        swap();
        return 'renewed';
      }
      if (authority.bundle() === inUse.identity.authorities) return 'nothing due';
      inUse = { ...inUse, identity: { ...inUse.identity, authorities: authority.bundle() } };
      swap();
      return 'other authorities';
    },
    start() {
      const keepOn = async () => {
        while (!closing.signal.aborted) {
          await clock.sleep(LOOK_EVERY_MS, closing.signal).catch(() => undefined);
          if (!closing.signal.aborted) await certificate.tend().catch((error: unknown) => failed?.(error));
        }
      };
      void keepOn();
    },
    close: () => closing.abort(),
  };
  return certificate;
}

interface InUse {
  readonly identity: TlsIdentity;
  readonly issued: IssuedCertificate;
  /** The authority that signed it. */
  readonly signer: string | undefined;
}

/** The key is made for one certificate and never touches the disk. */
async function issue(authority: CertificateAuthority, hosts: readonly string[]): Promise<InUse> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issued = await authority.issueServer({ publicKey: spki(publicKey), hosts });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const [signer] = authority.trusted();
  return { identity: { key, certificate: issued.pem, authorities: authority.bundle() }, issued, signer: signer?.id };
}

function spki(key: KeyObject): Uint8Array {
  return key.export({ type: 'spki', format: 'der' });
}
