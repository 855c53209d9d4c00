import type { DeviceId } from '@palyra/primitives';
import type { DeviceKind } from '../device-kind.ts';
import { IdentityError } from '../identity-error.ts';
import { changeDevice, readDevice, revoked } from '../registry/change-device.ts';
import { type Device, deviceOf } from '../registry/device.ts';
import type { IssueDeps } from '../registry/issue-device-certificate.ts';
import { keyDigestOf } from '../x509/certificate-facts.ts';

export type RenewalInput = KeyShown & {
  readonly device: DeviceId;
  /** What it is by the certificate it has. */
  readonly kind?: DeviceKind;
  readonly by: string;
};

/** The key that the device is known by: a request that it signed, or what was proven in another way, DER. */
export type KeyShown = { readonly csrDer: Uint8Array } | { readonly publicKey: Uint8Array };

export interface Renewed {
  readonly certificatePem: string;
  /** All authorities that count, those to come included: the device keeps them with its certificate. */
  readonly caPem: string;
  readonly device: DeviceId;
  readonly notBefore: number;
  readonly notAfter: number;
}

/**
 * Another certificate for a known device and the key it has; the one before stays good until it runs out. Throws
 * `identity.other_key`, `identity.device_revoked`, `identity.unknown_device`, `identity.invalid_request`, `identity.corrupt`.
 */
export async function renewDevice(input: RenewalInput, { authority, registry }: IssueDeps): Promise<Renewed> {
  const publicKey = await keyOf(input);
  const { device } = input;
  const found = deviceOf(await readDevice(device, registry.context));
  requireSame(found, publicKey, input);
  // Before it is signed: a certificate that nobody will be given need not exist.
  if (found.revoked !== null) throw revoked();
  const { kind } = found;
  const issued = await authority.issueDevice({ device, kind, publicKey });
  const { fingerprint, notAfter, notBefore } = issued;
  const { clock } = registry.context;
  await changeDevice(device, registry.context, {
    set(current) {
      requireSame(current, publicKey, input);
      return { certificate: fingerprint, certificate_pem: issued.pem, not_after: notAfter, renewed_at: clock.now() };
    },
    event: () => ({
      kind: 'device',
      change: 'renewed',
      device,
      deviceKind: kind,
      certificate: fingerprint,
      by: input.by,
    }),
  });
  return { certificatePem: issued.pem, caPem: authority.bundle(), device, notBefore, notAfter };
}

async function keyOf(shown: KeyShown): Promise<Uint8Array> {
  if ('publicKey' in shown) return shown.publicKey;
  // Late: the library takes long to load.
  const { readSigningRequest } = await import('../x509/make-certificates.ts');
  return readSigningRequest(shown.csrDer);
}

function requireSame(found: Device, publicKey: Uint8Array, { kind = found.kind }: RenewalInput): void {
  // SECURITY: T-34 — whoever got hold of a certificate for a while must not leave with a key of their own.
  if (found.keyDigest !== keyDigestOf(publicKey)) {
    throw new IdentityError('identity.other_key', 'The device is known by another key than the one that asks.', {
      fix: 'A device keeps its key; for another one an operator pairs it again in place of itself.',
    });
  }
  // SECURITY: T-36 — a row that was edited does not make the certificate of an agent one of an operator.
  if (found.kind !== kind) {
    throw new IdentityError('identity.corrupt', 'The registry has another kind for the device than its certificate.', {
      fix: 'Somebody changed the database: bring it back from a backup.',
    });
  }
}
