import { type DeviceId, parseId, visibleText } from '@palyra/primitives';
import { type DeviceKind, isDeviceKind } from '../device-kind.ts';
import { IdentityError } from '../identity-error.ts';
import type { DeviceRow } from './identity-schema.ts';
import { effectiveRoles, type Role } from './roles.ts';

/** One credential, as the registry knows it. */
export interface Device {
  readonly id: DeviceId;
  /** The person or program behind it; one may have several devices. */
  readonly principal: string;
  readonly kind: DeviceKind;
  readonly name: string;
  readonly roles: readonly Role[];
  readonly place: DevicePlace;
  /** DER of its SubjectPublicKeyInfo. */
  readonly publicKey: Uint8Array;
  /** SHA-256 of it, hexadecimal. */
  readonly keyDigest: string;
  readonly certificate: string;
  /** The newest one itself: what the authority said of this device, whatever else the row says. */
  readonly certificatePem: string;
  readonly notAfter: number;
  readonly createdAt: number;
  readonly renewedAt: number;
  readonly revoked: Revocation | null;
}

/** `passkey`: in an authenticator that signs only for the console's page. The authority vouches for its key too, but it opens no connection. */
export type DevicePlace = (typeof PLACES)[number];

const PLACES = ['same_host', 'separate_device', 'passkey'] as const;

export interface Revocation {
  readonly at: number;
  readonly by: string;
  readonly reason: RevocationReason;
}

export const REVOCATION_REASONS = ['lost', 'compromised', 'replaced', 'retired', 'unspecified'] as const;
export type RevocationReason = (typeof REVOCATION_REASONS)[number];

/** Throws `identity.corrupt`: a row that cannot be read is no device. */
export function deviceOf(row: DeviceRow): Device {
  const { kind } = row;
  const place = PLACES.find((each) => each === row.place);
  if (!isDeviceKind(kind) || place === undefined) throw corrupt();
  // SECURITY: T-36 — a row that was edited does not call an agent by the name of a person.
  if (!isPrincipalOf(row.principal, kind)) throw corrupt();
  return {
    id: parseId('device', row.id),
    principal: row.principal,
    kind,
    name: row.name,
    roles: effectiveRoles(kind, readList(row.roles)),
    place,
    publicKey: new Uint8Array(row.public_key),
    keyDigest: row.key_digest,
    certificate: row.certificate,
    certificatePem: row.certificate_pem,
    notAfter: row.not_after,
    createdAt: row.created_at,
    renewedAt: row.renewed_at,
    revoked: revocationOf(row),
  };
}

/** Throws `identity.corrupt`. */
export function readList(text: string): readonly string[] {
  try {
    const value = JSON.parse(text) as unknown;
    if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  } catch {
    // Said below.
  }
  throw corrupt();
}

/** SECURITY: T-35 — revoked is what has a time of revocation, whatever else the row says or fails to say. */
function revocationOf({ revoked_at, revoked_by, revoked_reason }: DeviceRow): Revocation | null {
  if (revoked_at === null) return null;
  const reason = REVOCATION_REASONS.find((each) => each === revoked_reason) ?? 'unspecified';
  return { at: revoked_at, by: revoked_by ?? '', reason };
}

const MOST_CHARACTERS = 64;

/** What a person will read in a list and in a question. Throws `identity.invalid_name`. */
export function checkName(name: string): string {
  const trimmed = name.trim();
  const { length } = Array.from(trimmed);
  // SECURITY: T-08 — a name that shows otherwise than it is written could pass for another device in a question.
  if (length > 0 && length <= MOST_CHARACTERS && visibleText(trimmed) === trimmed) return trimmed;
  throw new IdentityError(
    'identity.invalid_name',
    `A name has 1 to ${MOST_CHARACTERS} visible characters, and none that hides or turns others.`,
    { fix: 'Give a plain name, such as "laptop".' },
  );
}

const PRINCIPAL = /^(?:user|agent|service):[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$/;

/** Throws `identity.invalid_name`. */
export function checkPrincipal(principal: string, kind: DeviceKind): string {
  if (isPrincipalOf(principal, kind)) return principal;
  throw new IdentityError(
    'identity.invalid_name',
    `The principal of a device of kind ${kind} is written ${prefixOf(kind)}NAME, with letters, digits and . _ @ - in NAME.`,
  );
}

export function isPrincipalOf(principal: string, kind: DeviceKind): boolean {
  return PRINCIPAL.test(principal) && principal.startsWith(prefixOf(kind));
}

function prefixOf(kind: DeviceKind): string {
  return kind === 'operator' ? 'user:' : kind === 'agent' ? 'agent:' : 'service:';
}

function corrupt(): IdentityError {
  return new IdentityError('identity.corrupt', 'A stored device or token cannot be read.', {
    fix: 'Somebody changed the database: bring it back from a backup.',
  });
}
