import type { Migration } from '@palyra/storage';

export interface PrincipalRow {
  /** `user:ada`, `agent:coder`, `service:ci`: the person or program behind one or several credentials. */
  readonly id: string;
  readonly created_at: number;
  readonly created_by: string;
}

export interface DeviceRow {
  readonly id: string;
  readonly principal: string;
  readonly kind: string;
  readonly name: string;
  /** JSON. */
  readonly roles: string;
  /** Where its key is: `same_host` as palyrad, a `separate_device`, or a `passkey`. */
  readonly place: string;
  /** DER of its SubjectPublicKeyInfo. */
  readonly public_key: Uint8Array;
  readonly key_digest: string;
  /** SHA-256 of the newest certificate, that certificate, and how long it is good. */
  readonly certificate: string;
  readonly certificate_pem: string;
  readonly not_after: number;
  readonly created_at: number;
  readonly created_by: string;
  readonly renewed_at: number;
  readonly revoked_at: number | null;
  readonly revoked_by: string | null;
  readonly revoked_reason: string | null;
}

/** Keys that a device had before one was put in their place: they never come back. */
export interface RetiredKeyRow {
  readonly key_digest: string;
  readonly device: string;
  readonly retired_at: number;
}

export interface TokenRow {
  readonly id: string;
  /** `access` or `enrolment`. */
  readonly purpose: string;
  readonly name: string;
  /** SHA-256 of the secret, hexadecimal. */
  readonly digest: string;
  readonly principal: string;
  readonly kind: string;
  /** JSON: what an access token is for. */
  readonly actions: string;
  /** JSON: what a device that enters with an enrolment token may be used for. */
  readonly roles: string;
  readonly uses_left: number | null;
  /** The device or token that made it, and with which it falls. */
  readonly created_by: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly revoked_at: number | null;
  readonly revoked_by: string | null;
}

export interface IdentitySchema {
  readonly identity_principals: PrincipalRow;
  readonly identity_devices: DeviceRow;
  readonly identity_retired_keys: RetiredKeyRow;
  readonly identity_tokens: TokenRow;
}

export const IDENTITY_MIGRATIONS: readonly Migration[] = [
  {
    id: 'identity/0001-identity',
    statements: (t) => [
      `create table identity_principals (
         id ${t.text} primary key, created_at ${t.integer} not null, created_by ${t.text} not null
       )${t.strict}`,
      `create table identity_devices (
         id ${t.text} primary key, principal ${t.text} not null, kind ${t.text} not null, name ${t.text} not null,
         roles ${t.text} not null, place ${t.text} not null, public_key ${t.bytes} not null,
         key_digest ${t.text} not null, certificate ${t.text} not null, certificate_pem ${t.text} not null,
         not_after ${t.integer} not null,
         created_at ${t.integer} not null, created_by ${t.text} not null, renewed_at ${t.integer} not null,
         revoked_at ${t.integer}, revoked_by ${t.text}, revoked_reason ${t.text}
       )${t.strict}`,
      // One key is one device, for good: two people with one key would be one person twice.
      'create unique index identity_devices_key on identity_devices (key_digest)',
      `create table identity_retired_keys (
         key_digest ${t.text} primary key, device ${t.text} not null, retired_at ${t.integer} not null
       )${t.strict}`,
      `create table identity_tokens (
         id ${t.text} primary key, purpose ${t.text} not null, name ${t.text} not null, digest ${t.text} not null,
         principal ${t.text} not null, kind ${t.text} not null, actions ${t.text} not null, roles ${t.text} not null,
         uses_left ${t.integer}, created_by ${t.text} not null, created_at ${t.integer} not null, expires_at ${t.integer} not null,
         revoked_at ${t.integer}, revoked_by ${t.text}
       )${t.strict}`,
    ],
  },
];

/** Told of every device that counts differently from now on, with its id. */
export const DEVICES_CHANNEL = 'identity.devices';
