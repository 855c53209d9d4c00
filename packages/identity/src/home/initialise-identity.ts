import type { Clock, DeviceId } from '@palyra/primitives';
import { systemClock } from '@palyra/primitives';
import { renewalDueAt } from '../ca/lifetimes.ts';
import { type AuthorityOptions, createAuthority, hasAuthority, openAuthority } from '../ca/open-authority.ts';
import {
  ensureCredentialKey,
  hasCredential,
  openCredential,
  removeCredential,
  storeCertificate,
} from '../credentials/credential.ts';
import { credentialDirectory, LOCAL_CREDENTIALS, type LocalCredential } from '../credentials/local-credentials.ts';
import { createSigningRequest } from '../credentials/signing-request.ts';
import type { DeviceKind } from '../device-kind.ts';
import { ensurePrivateDirectory } from '../keys/private-files.ts';
import type { Device } from '../registry/device.ts';
import { type IssueDeps, issueDeviceCertificate } from '../registry/issue-device-certificate.ts';
import type { Registry } from '../registry/open-registry.ts';
import type { Role } from '../registry/roles.ts';
import { renewDevice } from '../renewal/renew-device.ts';
import { keyDigestOf } from '../x509/certificate-facts.ts';

export interface InitialisedIdentity {
  readonly authority: 'created' | 'kept';
  readonly credentials: readonly InitialisedCredential[];
}

export interface InitialisedCredential {
  readonly name: LocalCredential;
  readonly device: DeviceId;
  readonly kind: DeviceKind;
  readonly notAfter: number;
  readonly change: 'created' | 'renewed' | 'kept';
}

export interface InitialiseInput extends AuthorityOptions {
  readonly identityDirectory: string;
  readonly registry: Registry;
  /** Of the person whose home it is: `user:NAME`. */
  readonly operator: string;
}

interface LocalTerms {
  readonly kind: DeviceKind;
  readonly roles: readonly Role[];
}

const TERMS: Readonly<Record<LocalCredential, LocalTerms>> = {
  operator: { kind: 'operator', roles: ['admin', 'approver', 'operator'] },
  'local-agent': { kind: 'agent', roles: ['agent'] },
};

/** Makes what is missing of a home's identities and leaves the rest alone: the authority, the operator, and an agent. */
export async function initialiseIdentity(input: InitialiseInput): Promise<InitialisedIdentity> {
  const { identityDirectory, registry, clock = systemClock } = input;
  ensurePrivateDirectory(identityDirectory);
  const isNew = !hasAuthority(identityDirectory);
  const authority = isNew ? await createAuthority(identityDirectory, input) : openAuthority(identityDirectory, input);
  const credentials: InitialisedCredential[] = [];
  for (const name of LOCAL_CREDENTIALS) {
    const principal = name === 'operator' ? input.operator : 'agent:local';
    const directory = credentialDirectory(identityDirectory, name);
    const change = await ensureCredential({ directory, principal, name }, { authority, registry, clock });
    const { device, kind, notAfter } = openCredential(directory);
    credentials.push({ name, device, kind, notAfter, change });
  }
  return { authority: isNew ? 'created' : 'kept', credentials };
}

interface WantedCredential {
  readonly directory: string;
  readonly principal: string;
  readonly name: LocalCredential;
}

async function ensureCredential(
  { directory, principal, name }: WantedCredential,
  deps: IssueDeps & { readonly clock: Clock },
): Promise<InitialisedCredential['change']> {
  const { registry, clock } = deps;
  let known = await deviceWithKey(directory, registry);
  if (known !== undefined && known.revoked !== null) {
    // A revoked key counts for nothing, ever; the home goes on with a new one.
    removeCredential(directory);
    known = undefined;
  }
  const isDue = !hasCredential(directory) || clock.now() >= renewalDueAt(openCredential(directory));
  if (known !== undefined && !isDue) return 'kept';
  const csrDer = await createSigningRequest(ensureCredentialKey(directory));
  if (known !== undefined) {
    // Due for another, or a set-up that was interrupted before the certificate was on the disk.
    storeCertificate(directory, await renewDevice({ device: known.id, csrDer, by: principal }, deps));
    return 'renewed';
  }
  const { kind, roles } = TERMS[name];
  const terms = { by: principal, principalFor: () => principal, roles, place: 'same_host' } as const;
  storeCertificate(directory, await issueDeviceCertificate(deps, terms)({ csrDer, kind, name }));
  return 'created';
}

/** What the registry knows of the key in the directory; one that is not there yet is made. */
async function deviceWithKey(directory: string, registry: Registry): Promise<Device | undefined> {
  const digest = keyDigestOf(ensureCredentialKey(directory).publicKey);
  return (await registry.list()).find(({ keyDigest }) => keyDigest === digest);
}
