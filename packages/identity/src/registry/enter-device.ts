import type { DeviceId } from '@palyra/primitives';
import { type Step, statement } from '@palyra/storage';
import type { IssuedCertificate } from '../ca/open-authority.ts';
import type { DeviceKind } from '../device-kind.ts';
import { IdentityError } from '../identity-error.ts';
import { keyDigestOf } from '../x509/certificate-facts.ts';
import { changedMeanwhile, type RegistryContext } from './change-device.ts';
import { checkName, checkPrincipal, type Device, type DevicePlace, deviceOf } from './device.ts';
import { DEVICES_CHANNEL, type DeviceRow } from './identity-schema.ts';
import { checkRoles } from './roles.ts';

export interface EnterDevice {
  readonly id: DeviceId;
  readonly principal: string;
  readonly kind: DeviceKind;
  readonly name: string;
  /** None unless told: being known grants nothing. */
  readonly roles?: readonly string[];
  readonly place: DevicePlace;
  /** DER of its SubjectPublicKeyInfo. */
  readonly publicKey: Uint8Array;
  readonly certificate: Pick<IssuedCertificate, 'pem' | 'fingerprint' | 'notAfter'>;
  /** Who lets it in. */
  readonly by: string;
  /** What belongs into the same unit, such as one use less of an invitation. */
  readonly steps?: readonly Step[];
}

/** Throws `identity.key_known`, `identity.invalid_name`, `identity.invalid_roles`, `identity.changed_meanwhile`. */
export async function enterDevice(input: EnterDevice, context: RegistryContext): Promise<Device> {
  const row = rowOf(input, context.clock.now());
  await refuseKnownKey(row.key_digest, context);
  const { write } = context.database;
  const principal = write
    .insertInto('identity_principals')
    .values({ id: row.principal, created_at: row.created_at, created_by: input.by })
    .onConflict((conflict) => conflict.column('id').doNothing());
  // SECURITY: T-34 — an id or a key that is known is never written over; that is what replacing is for.
  const device = write
    .insertInto('identity_devices')
    .values(row)
    .onConflict((conflict) => conflict.doNothing());
  const steps = [statement(principal), statement(device, { rows: 1 }), ...(input.steps ?? [])];
  const notifications = [{ channel: DEVICES_CHANNEL, payload: input.id }];
  const { fingerprint: certificate } = input.certificate;
  const event = { kind: 'device', change: 'paired', device: input.id, deviceKind: input.kind, certificate } as const;
  const outcome = await context.commit({ steps, notifications }, [{ ...event, by: input.by }]);
  if (outcome.kind === 'committed') return deviceOf(row);
  if (outcome.step === 1) throw keyKnown();
  throw changedMeanwhile();
}

function rowOf(input: EnterDevice, now: number): DeviceRow {
  return {
    id: input.id,
    principal: checkPrincipal(input.principal, input.kind),
    kind: input.kind,
    name: checkName(input.name),
    roles: JSON.stringify(checkRoles(input.kind, input.roles ?? [])),
    place: input.place,
    public_key: input.publicKey,
    key_digest: keyDigestOf(input.publicKey),
    certificate: input.certificate.fingerprint,
    certificate_pem: input.certificate.pem,
    not_after: input.certificate.notAfter,
    created_at: now,
    created_by: input.by,
    renewed_at: now,
    revoked_at: null,
    revoked_by: null,
    revoked_reason: null,
  };
}

/** SECURITY: T-34, T-06 — one key, one device, one person; also a key that a device has had, or that was revoked. */
export async function refuseKnownKey(digest: string, { database }: Pick<RegistryContext, 'database'>): Promise<void> {
  const device = await database.read
    .selectFrom('identity_devices')
    .select('id')
    .where('key_digest', '=', digest)
    .executeTakeFirst();
  const retired = await database.read
    .selectFrom('identity_retired_keys')
    .select('device')
    .where('key_digest', '=', digest)
    .executeTakeFirst();
  if (device !== undefined || retired !== undefined) throw keyKnown();
}

function keyKnown(): IdentityError {
  return new IdentityError('identity.key_known', 'The key belongs to a device that is known already.', {
    fix: 'A known device renews its certificate; one that was revoked makes a new key.',
  });
}
