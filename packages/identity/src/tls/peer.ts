import type { DeviceId } from '@palyra/primitives';
import type { DeviceKind } from '../device-kind.ts';
import { type Refused, refused } from '../identity-error.ts';
import type { Device } from '../registry/device.ts';
import { groupsOf, type Role } from '../registry/roles.ts';
import { type Assurance, assuranceOf } from '../signing/assurance.ts';
import type { CertificateFacts } from '../x509/certificate-facts.ts';

/** Who is calling: proven by the key, and looked up by the certificate's device id. Nothing in it is the caller's word. */
export interface Peer {
  readonly principal: string;
  readonly kind: DeviceKind;
  readonly device: DeviceId;
  readonly roles: readonly Role[];
  /** The Cedar groups. */
  readonly groups: readonly string[];
  /** How much a signature with this key proves. */
  readonly assurance: Assurance;
  readonly certificate: { readonly fingerprint: string; readonly notAfter: number };
}

export type Admission = { readonly kind: 'admitted'; readonly peer: Peer } | Refused;

/** Whether the registry's word and the certificate's are about the same device. */
export function admitDevice(facts: CertificateFacts, device: Device | undefined): Admission {
  if (device === undefined) return refused('unknown_device');
  if (device.revoked !== null) return refused('revoked');
  // SECURITY: T-34 — after a key was replaced, a certificate of the old one is good for nothing, however long it lives.
  if (device.keyDigest !== facts.keyDigest) return refused('other_key');
  // SECURITY: T-36 — a row that was edited makes no operator of an agent: its certificate still says agent.
  if (device.kind !== facts.kind) return refused('wrong_kind');
  const { fingerprint, notAfter } = facts;
  return {
    kind: 'admitted',
    peer: {
      principal: device.principal,
      kind: device.kind,
      device: device.id,
      roles: device.roles,
      groups: groupsOf(device.roles),
      assurance: assuranceOf(device),
      certificate: { fingerprint, notAfter },
    },
  };
}
