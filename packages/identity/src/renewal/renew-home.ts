import { type Clock, systemClock } from '@palyra/primitives';
import { renewalDueAt } from '../ca/lifetimes.ts';
import { hasCredential, readCertificate, replaceCertificate } from '../credentials/credential.ts';
import { credentialDirectory, LOCAL_CREDENTIALS, type LocalCredential } from '../credentials/local-credentials.ts';
import type { DeviceKind } from '../device-kind.ts';
import { IdentityError } from '../identity-error.ts';
import type { IssueDeps } from '../registry/issue-device-certificate.ts';
import { readCertificateFacts } from '../x509/certificate-facts.ts';
import { renewDevice } from './renew-device.ts';

export interface RenewHomeDeps extends IssueDeps {
  readonly identityDirectory: string;
  readonly clock?: Clock;
  /** Who does it, for the record. */
  readonly by: string;
}

export type HomeRenewal =
  | { readonly kind: 'kept'; readonly name: LocalCredential }
  | { readonly kind: 'renewed'; readonly name: LocalCredential; readonly notAfter: number }
  | { readonly kind: 'failed'; readonly name: LocalCredential; readonly error: unknown };

const KINDS: Readonly<Record<LocalCredential, DeviceKind>> = { operator: 'operator', 'local-agent': 'agent' };

/**
 * The two credentials of a home, by whoever has its authority: those that are due or have run out get another certificate for
 * the key they have. Never rejects: what fails for the one does not keep the other from it.
 */
export async function renewHome(deps: RenewHomeDeps): Promise<readonly HomeRenewal[]> {
  const renewals: HomeRenewal[] = [];
  for (const name of LOCAL_CREDENTIALS) {
    try {
      renewals.push(await renewCredential(name, deps));
    } catch (error) {
      renewals.push({ kind: 'failed', name, error });
    }
  }
  return renewals;
}

async function renewCredential(name: LocalCredential, deps: RenewHomeDeps): Promise<HomeRenewal> {
  const { identityDirectory, authority, clock = systemClock, by } = deps;
  const directory = credentialDirectory(identityDirectory, name);
  if (!hasCredential(directory)) return { kind: 'kept', name };
  // SECURITY: T-40 — the certificate and not the key: palyrad, which an agent may have started, never holds the operator's.
  const certificate = readCertificate(directory);
  const [notBefore, notAfter] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
  if (clock.now() < renewalDueAt({ notBefore, notAfter })) return { kind: 'kept', name };
  // SECURITY: T-36 — what our authority signed, of the kind that belongs there: what somebody put in its place gets nothing.
  const reading = readCertificateFacts(certificate, authority.trusted());
  if (reading.kind === 'refused' || reading.facts.kind !== KINDS[name]) throw notOurs(name);
  const { device, kind } = reading.facts;
  const publicKey = certificate.publicKey.export({ type: 'spki', format: 'der' });
  const renewed = await renewDevice({ device, kind, publicKey, by }, deps);
  replaceCertificate(directory, renewed);
  return { kind: 'renewed', name, notAfter: renewed.notAfter };
}

function notOurs(name: LocalCredential): IdentityError {
  return new IdentityError('identity.key_invalid', `The certificate in ${name}/ is not one that can be renewed.`, {
    fix: 'Run `palyra init`: it renews by the key, or says what is wrong with it.',
  });
}
