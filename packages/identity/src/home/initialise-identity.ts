import { X509Certificate } from 'node:crypto';
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
import { IdentityError, type IdentityErrorCode } from '../identity-error.ts';
import { ensurePrivateDirectory } from '../keys/private-files.ts';
import type { Device } from '../registry/device.ts';
import { type IssueDeps, issueDeviceCertificate } from '../registry/issue-device-certificate.ts';
import type { Registry } from '../registry/open-registry.ts';
import type { Role } from '../registry/roles.ts';
import { renewDevice } from '../renewal/renew-device.ts';
import { keyDigestOf, readCertificateFacts } from '../x509/certificate-facts.ts';

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
  const isNew = await ensureAuthority(identityDirectory, input);
  const authority = openAuthority(identityDirectory, input);
  const credentials: InitialisedCredential[] = [];
  for (const name of LOCAL_CREDENTIALS) {
    const principal = name === 'operator' ? input.operator : 'agent:local';
    const directory = credentialDirectory(identityDirectory, name);
    const change = await whoeverElseDoes(() =>
      ensureCredential({ directory, principal, name }, { authority, registry, clock }),
    );
    const { device, kind, notAfter } = openCredential(directory);
    credentials.push({ name, device, kind, notAfter, change });
  }
  return { authority: isNew ? 'created' : 'kept', credentials };
}

/** False when there is one, also when somebody else made it at this moment. */
async function ensureAuthority(identityDirectory: string, options: AuthorityOptions): Promise<boolean> {
  if (hasAuthority(identityDirectory)) return false;
  try {
    await createAuthority(identityDirectory, options);
    return true;
  } catch (error) {
    if (isOneOf(error, ['identity.ca_exists'])) return false;
    throw error;
  }
}

const MOST_ATTEMPTS = 4;

/** Looks again when somebody else does the same at the same time, and then finds it done. */
async function whoeverElseDoes<Result>(act: () => Promise<Result>, left = MOST_ATTEMPTS): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    if (left > 1 && isOneOf(error, ['identity.key_known', 'identity.changed_meanwhile'])) {
      return whoeverElseDoes(act, left - 1);
    }
    throw error;
  }
}

function isOneOf(error: unknown, codes: readonly IdentityErrorCode[]): boolean {
  return error instanceof IdentityError && codes.includes(error.code);
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
  const isDue =
    !hasCredential(directory) || isWorthless(directory, deps) || clock.now() >= renewalDueAt(openCredential(directory));
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

/** Of an authority that counts no more: its time may run for days, and still nobody would take it. */
function isWorthless(directory: string, { authority }: Pick<IssueDeps, 'authority'>): boolean {
  const certificate = new X509Certificate(openCredential(directory).tls.certificate);
  return readCertificateFacts(certificate, authority.trusted()).kind === 'refused';
}

/** What the registry knows of the key in the directory; one that is not there yet is made. */
async function deviceWithKey(directory: string, registry: Registry): Promise<Device | undefined> {
  const digest = keyDigestOf(ensureCredentialKey(directory).publicKey);
  return (await registry.list()).find(({ keyDigest }) => keyDigest === digest);
}
