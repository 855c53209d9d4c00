import type { Clock, DeviceId, IdSource } from '@palyra/primitives';
import { type Database, type Step, statement } from '@palyra/storage';
import { IdentityError } from '../identity-error.ts';
import { type Device, deviceOf } from './device.ts';
import type { CommitIdentity, IdentityEvent } from './identity-record.ts';
import { DEVICES_CHANNEL, type DeviceRow, type IdentitySchema } from './identity-schema.ts';

/** What every act on the registry needs. */
export interface RegistryContext {
  readonly database: Database<IdentitySchema>;
  readonly commit: CommitIdentity;
  readonly clock: Clock;
  readonly ids: IdSource;
}

export interface DeviceChange {
  /** Holds whatever others have changed since it was looked at. */
  readonly holdsAnyway?: true;
  /** Then nothing is written. */
  isDone?(found: Device): boolean;
  set(found: Device): Partial<DeviceRow>;
  event(found: Device): IdentityEvent;
  /** What belongs into the same unit. */
  steps?(found: Device): readonly Step[];
}

/** Throws `identity.unknown_device`, `identity.device_revoked`, `identity.changed_meanwhile`. */
export async function changeDevice(device: DeviceId, context: RegistryContext, change: DeviceChange): Promise<Device> {
  const row = await readDevice(device, context);
  const found = deviceOf(row);
  if (change.isDone?.(found) === true) return found;
  // SECURITY: T-35 — no way back from a revocation: neither a renewal nor a role nor another key.
  if (found.revoked !== null) throw revoked();
  const values = change.set(found);
  const standing = context.database.write
    .updateTable('identity_devices')
    .set(values)
    .where('id', '=', device)
    .where('revoked_at', 'is', null);
  // Whoever renewed it, or gave it other roles or another key, has changed what was looked at.
  const unchanged = standing
    .where('key_digest', '=', row.key_digest)
    .where('certificate', '=', row.certificate)
    .where('roles', '=', row.roles);
  const update = change.holdsAnyway === true ? standing : unchanged;
  const steps = [statement(update, { rows: 1 }), ...(change.steps?.(found) ?? [])];
  const notifications = [{ channel: DEVICES_CHANNEL, payload: device }];
  const outcome = await context.commit({ steps, notifications }, [change.event(found)]);
  if (outcome.kind === 'conflict') throw changedMeanwhile();
  return deviceOf({ ...row, ...values });
}

/** Throws `identity.unknown_device`. */
export async function readDevice(
  device: DeviceId,
  { database }: Pick<RegistryContext, 'database'>,
): Promise<DeviceRow> {
  const row = await database.read
    .selectFrom('identity_devices')
    .selectAll()
    .where('id', '=', device)
    .executeTakeFirst();
  if (row !== undefined) return row;
  throw new IdentityError('identity.unknown_device', 'There is no such device.', {
    fix: '`palyra device list` shows those there are.',
  });
}

export function revoked(): IdentityError {
  return new IdentityError('identity.device_revoked', 'The device was revoked, which cannot be undone.', {
    fix: 'Pair it anew, with a new key.',
  });
}

export function changedMeanwhile(): IdentityError {
  return new IdentityError('identity.changed_meanwhile', 'Somebody else changed it at the same time.', {
    fix: 'Look at it again, and try again if it is still wanted.',
  });
}
