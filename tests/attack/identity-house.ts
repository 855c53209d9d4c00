import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CertificateAuthority,
  type Credential,
  createAuthority,
  createSigningRequest,
  type DeviceKind,
  ensureCredentialKey,
  type IdentitySchema,
  issueDeviceCertificate,
  type Lifetimes,
  openCredential,
  openRegistry,
  type Registry,
  storeCertificate,
} from '@palyra/identity';
import { type Clock, systemClock } from '@palyra/primitives';
import type { Database, DatabaseOptions } from '@palyra/storage';
// By itself: the whole of testkit takes longer to load than most of these tests run.
import { createTemporaryHome } from '../../packages/testkit/src/temporary-home.ts';
import { openIdentityDatabase } from './identity-listener.ts';

/** An authority, a registry and a database, on a disk of their own. */
export interface IdentityHouse extends AsyncDisposable {
  readonly path: string;
  readonly identity: string;
  readonly location: DatabaseOptions['location'];
  readonly database: Database<IdentitySchema>;
  readonly authority: CertificateAuthority;
  readonly registry: Registry;
  /** Ahead of the host's by so much; certificates are still checked by OpenSSL at the host's time. */
  readonly clock: ShiftedClock;
  /** A device with a credential on the disk, let in by an administrator. */
  letIn(name: string, kind: DeviceKind, roles?: readonly string[]): Promise<Credential>;
  /** What somebody has who stole the key of the authority. */
  stolenKey(): KeyObject;
}

export interface ShiftedClock extends Clock {
  aheadMs: number;
}

export interface HouseOptions {
  readonly location?: DatabaseOptions['location'];
  /** Another authority on the database of this house, and nothing else of its own: a database takes long to open. */
  readonly beside?: IdentityHouse;
  readonly lifetimes?: Partial<Lifetimes>;
}

export async function identityHouse({ location, beside, lifetimes = {} }: HouseOptions = {}): Promise<IdentityHouse> {
  const home = await createTemporaryHome();
  const identity = join(home.path, 'identity');
  const place = location ?? beside?.location ?? ({ kind: 'sqlite', path: join(home.path, 'palyra.db') } as const);
  const clock = shiftedClock();
  const database = beside?.database ?? (await openIdentityDatabase(place));
  const authority = await createAuthority(identity, { clock, lifetimes });
  const registry = openRegistry({ database, clock });
  return {
    path: home.path,
    identity,
    location: place,
    database,
    authority,
    registry,
    clock,
    letIn: (name, kind, roles = []) => letIn({ identity, authority, registry }, { name, kind, roles }),
    stolenKey: () => stolenKeyIn(identity, authority),
    async [Symbol.asyncDispose]() {
      if (beside === undefined) await database.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

interface NewDevice {
  readonly name: string;
  readonly kind: DeviceKind;
  readonly roles: readonly string[];
}

/** By an administrator, into a directory below that of the identities. */
export async function letIn(
  { identity, authority, registry }: Pick<IdentityHouse, 'identity' | 'authority' | 'registry'>,
  { name, kind, roles }: NewDevice,
): Promise<Credential> {
  const directory = join(identity, 'devices', name);
  const key = ensureCredentialKey(directory);
  const prefix = { operator: 'user', agent: 'agent', node: 'service', service: 'service' }[kind];
  const terms = {
    by: 'user:ada',
    principalFor: () => `${prefix}:${name}`,
    roles: roles as [],
    place: 'separate_device',
  } as const;
  const issue = issueDeviceCertificate({ authority, registry }, terms);
  storeCertificate(directory, await issue({ csrDer: await createSigningRequest(key), kind, name }));
  return openCredential(directory);
}

export function stolenKeyIn(identity: string, authority: CertificateAuthority): KeyObject {
  const [current] = authority.trusted();
  return createPrivateKey(readFileSync(join(identity, 'ca', `${current?.id.slice(0, 16)}.key`)));
}

export function shiftedClock(): ShiftedClock {
  const clock: ShiftedClock = { aheadMs: 0, now: () => Date.now() + clock.aheadMs, sleep: systemClock.sleep };
  return clock;
}

/** A key nobody else has. */
export function freshKey(): { readonly privateKey: KeyObject; readonly spki: Uint8Array; readonly pem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privateKey,
    spki: publicKey.export({ type: 'spki', format: 'der' }),
    pem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}
