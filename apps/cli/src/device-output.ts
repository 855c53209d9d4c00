import type { Device } from '@palyra/identity';

/** One device as every command prints it. */
export function deviceAsJson(device: Device): Readonly<Record<string, unknown>> {
  const { revoked } = device;
  return {
    device_id: device.id,
    name: device.name,
    kind: device.kind,
    principal: device.principal,
    roles: device.roles,
    place: device.place,
    key_sha256: device.keyDigest,
    certificate_sha256: device.certificate,
    not_after: new Date(device.notAfter).toISOString(),
    created_at: new Date(device.createdAt).toISOString(),
    ...(revoked === null
      ? {}
      : { revoked: { at: new Date(revoked.at).toISOString(), by: revoked.by, reason: revoked.reason } }),
  };
}

export function stateOf(device: Device, now: number): string {
  if (device.revoked !== null) return `revoked (${device.revoked.reason})`;
  return now < device.notAfter ? `until ${new Date(device.notAfter).toISOString().slice(0, 10)}` : 'expired';
}

export const DEVICE_IDS: { readonly what: string; readonly list: string } = {
  what: 'device',
  list: 'palyra device list',
};
