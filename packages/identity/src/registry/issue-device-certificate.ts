import type { DeviceId } from '@palyra/primitives';
import { type Step, statement } from '@palyra/storage';
import type { CertificateAuthority } from '../ca/open-authority.ts';
import type { DeviceKind } from '../device-kind.ts';
import { IdentityError } from '../identity-error.ts';
import { keyDigestOf } from '../x509/certificate-facts.ts';
import { changeDevice } from './change-device.ts';
import type { Device, DevicePlace } from './device.ts';
import { refuseKnownKey } from './enter-device.ts';
import type { Registry } from './open-registry.ts';
import type { Role } from './roles.ts';

/** What a new device gets for its request. The key of the request is the only thing in it that counts. */
export type IssueCertificate = (request: {
  readonly csrDer: Uint8Array;
  readonly kind: DeviceKind;
  readonly name: string;
}) => Promise<{ readonly certificatePem: string; readonly caPem: string; readonly device: string }>;

export interface IssueDeps {
  readonly authority: CertificateAuthority;
  readonly registry: Registry;
}

export interface IssueTerms {
  /** Who lets the device in, for the record. */
  readonly by: string;
  /** Whose device it is. */
  principalFor(request: { readonly kind: DeviceKind; readonly name: string }): string;
  /** None unless told: pairing grants nothing by itself. */
  readonly roles?: readonly Role[];
  /** `same_host` unless told: what is not known to be elsewhere proves less. */
  readonly place?: DevicePlace;
  /** The device that the key is for from now on, instead of the one it had. */
  readonly replaces?: DeviceId;
  /** What belongs into the same unit. */
  readonly steps?: readonly Step[];
}

/** Enters devices under these terms. Throws as `Registry.enter` does, and `identity.invalid_request`. */
export function issueDeviceCertificate({ authority, registry }: IssueDeps, terms: IssueTerms): IssueCertificate {
  return async ({ csrDer, kind, name }) => {
    const { readSigningRequest } = await import('../x509/make-certificates.ts');
    const publicKey = await readSigningRequest(csrDer);
    if (terms.replaces !== undefined)
      return replaceKey(terms.replaces, publicKey, { authority, registry, terms, kind });
    const { ids } = registry.context;
    const id = ids.newId('device');
    const certificate = await authority.issueDevice({ device: id, kind, publicKey });
    await registry.enter({
      id,
      principal: terms.principalFor({ kind, name }),
      kind,
      name,
      roles: terms.roles ?? [],
      place: terms.place ?? 'same_host',
      publicKey,
      certificate,
      by: terms.by,
      ...(terms.steps === undefined ? {} : { steps: terms.steps }),
    });
    return { certificatePem: certificate.pem, caPem: authority.bundle(), device: id };
  };
}

/**
 * Another key for a known device, because somebody who may do so said so.
 * SECURITY: T-34 — the old key counts for nothing from then on and never comes back; kind and principal stay what they were.
 */
async function replaceKey(
  device: DeviceId,
  publicKey: Uint8Array,
  { authority, registry, terms, kind }: IssueDeps & { readonly terms: IssueTerms; readonly kind: DeviceKind },
): ReturnType<IssueCertificate> {
  const { context } = registry;
  const digest = keyDigestOf(publicKey);
  await refuseKnownKey(digest, context);
  const certificate = await authority.issueDevice({ device, kind, publicKey });
  const now = context.clock.now();
  const retire = (found: Device) =>
    statement(
      context.database.write
        .insertInto('identity_retired_keys')
        .values({ key_digest: found.keyDigest, device, retired_at: now }),
      { rows: 1 },
    );
  await changeDevice(device, context, {
    set(found) {
      if (found.kind !== kind) throw otherKind();
      return {
        public_key: publicKey,
        key_digest: digest,
        certificate: certificate.fingerprint,
        certificate_pem: certificate.pem,
        not_after: certificate.notAfter,
        renewed_at: now,
        place: terms.place ?? 'same_host',
      };
    },
    event: (found) => ({
      kind: 'device',
      change: 'paired',
      device,
      deviceKind: found.kind,
      certificate: certificate.fingerprint,
      by: terms.by,
    }),
    steps: (found) => [retire(found), ...(terms.steps ?? [])],
  });
  return { certificatePem: certificate.pem, caPem: authority.bundle(), device };
}

function otherKind(): IdentityError {
  return new IdentityError('identity.other_key', 'The device is of another kind than the one that would replace it.', {
    fix: 'Pair it as a new device, and revoke the old one.',
  });
}
