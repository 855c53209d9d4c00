import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { DeviceSchema, TokenSchema } from '@palyra/api';
import type { Device, Token } from '@palyra/identity';
import { optionalTimestamp } from './timestamp.ts';

export function deviceOf(device: Device): MessageInitShape<typeof DeviceSchema> {
  const { id, principal, kind, name, roles, place, keyDigest, createdAt, notAfter, revoked } = device;
  const revokedAt = optionalTimestamp(revoked?.at);
  return {
    deviceId: id,
    principal,
    kind,
    name,
    roles: [...roles],
    place,
    keySha256: keyDigest,
    createdAt: timestampFromMs(createdAt),
    notAfter: timestampFromMs(notAfter),
    ...(revokedAt === undefined ? {} : { revokedAt }),
    revokedReason: revoked?.reason ?? '',
  };
}

export function tokenOf(token: Token, now: number): MessageInitShape<typeof TokenSchema> {
  const { id, principal, kind, actions, expiresAt, usesLeft, revokedAt } = token;
  return {
    tokenId: id,
    principal,
    kind,
    actions: [...actions],
    expiresAt: timestampFromMs(expiresAt),
    usesLeft: usesLeft ?? 0,
    active: revokedAt === null && now < expiresAt && usesLeft !== 0,
  };
}
