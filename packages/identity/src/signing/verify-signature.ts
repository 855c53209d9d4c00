import { type Clock, parseId, systemClock } from '@palyra/primitives';
import type { CertificateAuthority } from '../ca/open-authority.ts';
import { isSignedByKey, type SignedByKey } from '../keys/device-key.ts';
import type { Device } from '../registry/device.ts';
import type { Registry } from '../registry/open-registry.ts';
import { type Assurance, assuranceOf } from './assurance.ts';
import { type RelyingParty, verifyPasskey } from './verify-passkey.ts';
import { isVouchedFor } from './vouched-key.ts';

/** What approvals ask of identity; written down again, because leaves do not import one another. */
export interface SignedMessage {
  /** The id of the device. */
  readonly credential: string;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

export interface VerifiedSigner {
  readonly kind: 'human' | 'agent';
  /** The principal: one person, however many devices. */
  readonly person: string;
  readonly device: string | null;
  readonly assurance: Assurance;
}

/** Undefined when the signature is not one of this credential, or the credential does not count any more. */
export type VerifySignature = (signed: SignedMessage) => Promise<VerifiedSigner | undefined>;

export interface VerifySignatureDeps {
  readonly registry: Pick<Registry, 'find'>;
  readonly authority: Pick<CertificateAuthority, 'trusted'>;
  /** Of the console; without it no passkey counts. */
  readonly relyingParty?: RelyingParty;
  readonly clock?: Clock;
}

/** For `openApprovals` and for whoever checks a statement that is in the journal: whose signature it is today. */
export function createSignatureVerifier(deps: VerifySignatureDeps): VerifySignature {
  const { registry, authority, relyingParty, clock = systemClock } = deps;
  return async ({ credential, message, signature }) => {
    const device = await registry.find(toDevice(credential));
    // SECURITY: T-35 — a device that was revoked, or that has not renewed for so long that it ran out, signs nothing that
    // counts: a key that was forgotten in a drawer must not answer for its owner.
    if (device === undefined || device.revoked !== null) return undefined;
    if (!isVouchedFor(device, { authority, now: () => clock.now() })) return undefined;
    const assurance = assuranceBy({ publicKey: device.publicKey, message, signature }, device, relyingParty);
    if (assurance === undefined) return undefined;
    return {
      // SECURITY: T-06 — only an operator's key is a human's; services and nodes are programs as agents are.
      kind: device.kind === 'operator' ? 'human' : 'agent',
      person: device.principal,
      device: device.id,
      assurance,
    };
  };
}

/** SECURITY: T-40 — a key is used in one way: a program that holds a device's key cannot claim to be a passkey. */
function assuranceBy(
  signed: SignedByKey,
  device: Pick<Device, 'place'>,
  relyingParty: RelyingParty | undefined,
): Assurance | undefined {
  if (device.place !== 'passkey') return isSignedByKey(signed) ? assuranceOf(device) : undefined;
  const verified = relyingParty === undefined ? undefined : verifyPasskey(signed, relyingParty);
  if (verified === undefined) return undefined;
  return verified.isUserVerified ? 'user_verified' : assuranceOf(device);
}

/** Anything is looked up; what is no id is no device. */
function toDevice(credential: string): ReturnType<typeof parseId<'device'>> {
  try {
    return parseId('device', credential);
  } catch {
    return '' as ReturnType<typeof parseId<'device'>>;
  }
}
