import type { DeviceId } from '@palyra/primitives';
import { IdentityError } from '../identity-error.ts';
import { changeDevice, readDevice, revoked } from '../registry/change-device.ts';
import { type Device, deviceOf } from '../registry/device.ts';
import type { IssueDeps } from '../registry/issue-device-certificate.ts';
import { keyDigestOf } from '../x509/certificate-facts.ts';

export interface RenewalInput {
  readonly device: DeviceId;
  /** A request by the key that the device is known by. */
  readonly csrDer: Uint8Array;
  readonly by: string;
}

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
 * `identity.other_key`, `identity.device_revoked`, `identity.unknown_device`, `identity.invalid_request`.
 */
export async function renewDevice(input: RenewalInput, { authority, registry }: IssueDeps): Promise<Renewed> {
  const { readSigningRequest } = await import('../x509/make-certificates.ts');
  const publicKey = await readSigningRequest(input.csrDer);
  const { device } = input;
  const found = deviceOf(await readDevice(device, registry.context));
  requireSameKey(found, publicKey);
  // Before it is signed: a certificate that nobody will be given need not exist.
  if (found.revoked !== null) throw revoked();
  const { kind } = found;
  const issued = await authority.issueDevice({ device, kind, publicKey });
  const { fingerprint, notAfter, notBefore } = issued;
  const { clock } = registry.context;
  await changeDevice(device, registry.context, {
    set(current) {
      requireSameKey(current, publicKey);
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

/** SECURITY: T-34 — whoever got hold of a certificate for a while must not leave with a key of their own. */
function requireSameKey({ keyDigest }: Device, publicKey: Uint8Array): void {
  if (keyDigest === keyDigestOf(publicKey)) return;
  throw new IdentityError('identity.other_key', 'The device is known by another key than the one that asks.', {
    fix: 'A device keeps its key; for another one an operator pairs it again in place of itself.',
  });
}
