import { type Clock, createIdSource, type DeviceId, type IdSource, parseId, systemClock } from '@palyra/primitives';
import type { Database, Subscription } from '@palyra/storage';
import { changeDevice, type RegistryContext } from './change-device.ts';
import { type Device, deviceOf, type RevocationReason } from './device.ts';
import { type EnterDevice, enterDevice } from './enter-device.ts';
import type { CommitIdentity } from './identity-record.ts';
import { DEVICES_CHANNEL, type DeviceRow, type IdentitySchema } from './identity-schema.ts';
import { createTogether } from './read-together.ts';
import { checkRoles } from './roles.ts';

/** Who there is. What a certificate says beyond its device is looked up here, each time. */
export interface Registry {
  readonly context: RegistryContext;
  /** As it is now: every change that was acknowledged before is seen. Throws `StorageError`, `identity.corrupt`. */
  find(device: DeviceId): Promise<Device | undefined>;
  list(): Promise<readonly Device[]>;
  /** Throws `identity.key_known`, `identity.invalid_name`, `identity.invalid_roles`. */
  enter(device: EnterDevice): Promise<Device>;
  /** Throws `identity.unknown_device`, `identity.device_revoked`. Revoking twice is fine, and changes nothing. */
  revoke(input: { readonly device: DeviceId; readonly reason: RevocationReason; readonly by: string }): Promise<Device>;
  setRoles(input: {
    readonly device: DeviceId;
    readonly roles: readonly string[];
    readonly by: string;
  }): Promise<Device>;
  /** Resolves when every later change, from any process, will be told. Being told is a reason to look, and no more. */
  watch(listener: (change: RegistryChange) => void): Promise<Subscription>;
}

export type RegistryChange = { readonly kind: 'changed'; readonly device: DeviceId } | { readonly kind: 'gap' };

export interface RegistryDeps {
  /** Opened with `IDENTITY_MIGRATIONS`. */
  readonly database: Database<IdentitySchema>;
  /** Puts the journal's entries into the same unit; the unit alone unless told. */
  readonly commit?: CommitIdentity;
  readonly clock?: Clock;
  readonly ids?: IdSource;
}

export function openRegistry({ database, commit, clock = systemClock, ids }: RegistryDeps): Registry {
  const context: RegistryContext = {
    database,
    commit: commit ?? ((unit) => database.commit(unit)),
    clock,
    ids: ids ?? createIdSource({ now: clock.now }),
  };
  const together = createTogether<DeviceRow>(async (wanted) => {
    const rows = await database.read
      .selectFrom('identity_devices')
      .selectAll()
      .where('id', 'in', [...wanted])
      .execute();
    return new Map(rows.map((row) => [row.id, row]));
  });
  return {
    context,
    async find(device) {
      // Each row by itself: one that cannot be read is nobody else's fault, and shuts out nobody else.
      const row = await together.read(device);
      return row === undefined ? undefined : deviceOf(row);
    },
    list: () => listDevices(database),
    enter: (device) => enterDevice(device, context),
    revoke: ({ device, reason, by }) =>
      changeDevice(device, context, {
        // SECURITY: T-35 — or a device that renews without pause could not be revoked.
        holdsAnyway: true,
        isDone: ({ revoked }) => revoked !== null,
        set: () => ({ revoked_at: context.clock.now(), revoked_by: by, revoked_reason: reason }),
        event: (found) => ({ kind: 'device', change: 'revoked', device, deviceKind: found.kind, by }),
      }),
    setRoles: ({ device, roles, by }) =>
      changeDevice(device, context, {
        set: (found) => ({ roles: JSON.stringify(checkRoles(found.kind, roles)) }),
        event: (found) => ({ kind: 'device', change: 'roles_changed', device, deviceKind: found.kind, by }),
      }),
    watch: (listener) =>
      database.subscribe(DEVICES_CHANNEL, (event) => {
        if (event.kind === 'gap') return listener(event);
        const device = toldDevice(event.payload);
        if (device !== undefined) listener({ kind: 'changed', device });
      }),
  };
}

/** The oldest first. */
export async function listDevices({ read }: Pick<Database<IdentitySchema>, 'read'>): Promise<readonly Device[]> {
  return (await read.selectFrom('identity_devices').selectAll().orderBy('id').execute()).map(deviceOf);
}

/** Undefined for what cannot be an id: on PostgreSQL every login may notify, with whatever it likes. */
function toldDevice(payload: string): DeviceId | undefined {
  try {
    return parseId('device', payload);
  } catch {
    return undefined;
  }
}
