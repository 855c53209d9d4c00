import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import type { CreateTokenRequest, DeviceService } from '@palyra/api';
import {
  type Device,
  IdentityError,
  type NewToken,
  REVOCATION_REASONS,
  type Registry,
  TOKEN_ACTIONS,
  type Tokens,
} from '@palyra/identity';
import { type Clock, parseId, reveal } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';
import type { Authorizer } from '../interceptors/authorize.ts';
import { type AuthenticatedPeer, peerOf } from '../interceptors/peer-context.ts';
import type { PairingHost } from '../pairing/host-invitations.ts';
import { deviceOf, tokenOf } from '../wire/device.ts';
import { pickId } from '../wire/pick-id.ts';
import { createPairDevice } from './pair-device.ts';

export interface DeviceServiceDeps {
  readonly identity: { readonly registry: Registry; readonly tokens: Tokens };
  readonly authorizer: Pick<Authorizer, 'require'>;
  readonly pairing: Pick<PairingHost, 'invite' | 'confirm'>;
  readonly clock: Pick<Clock, 'now'>;
}

export function createDeviceService(deps: DeviceServiceDeps): ServiceImpl<typeof DeviceService> {
  const { identity, authorizer, pairing, clock } = deps;
  const { registry, tokens } = identity;
  return {
    whoAmI(_request, context) {
      const peer = peerOf(context);
      return { principal: peer.principal, deviceId: peer.device ?? '', roles: [...peer.roles] };
    },
    async listDevices({ includeRevoked }) {
      const all = await registry.list();
      return { devices: all.filter(({ revoked }) => includeRevoked || revoked === null).map(deviceOf) };
    },
    async revokeDevice({ deviceId, reason }, context) {
      const peer = peerOf(context);
      const found = pickId(deviceId, await registry.list(), unknownDevice);
      const isOwn = found.principal === peer.principal;
      authorizer.require(peer, { action: 'device.revoke', resource: { type: 'Device', id: found.id }, isOwn });
      const revoked = await registry.revoke({ device: found.id, reason: reasonOf(reason), by: peer.principal });
      return { device: deviceOf(revoked) };
    },
    pairDevice: createPairDevice({ pairing, findDevice: (id) => registry.find(id) }),
    confirmPairing({ invitationId, accept }, context) {
      pairing.confirm({ invitation: invitationId, accept, by: peerOf(context).principal });
      return {};
    },
    async createToken(request, context) {
      const { token, text } = await tokens.create(newTokenOf(request, peerOf(context)));
      return { tokenId: token.id, token: reveal(text), expiresAt: timestampFromMs(token.expiresAt) };
    },
    async listTokens() {
      const all = await tokens.list();
      return { tokens: all.toReversed().map((token) => tokenOf(token, clock.now())) };
    },
    async revokeToken({ tokenId }, context) {
      const found = pickId(tokenId, await tokens.list(), unknownToken);
      await tokens.revoke({ token: parseId('token', found.id), by: peerOf(context).principal });
      return {};
    },
  };
}

function reasonOf(text: string): (typeof REVOCATION_REASONS)[number] {
  if (text === '') return 'unspecified';
  const known = REVOCATION_REASONS.find((each) => each === text);
  if (known !== undefined) return known;
  throw new DaemonError('daemon.invalid_request', 'There is no such reason.', {
    fix: `The reasons are ${REVOCATION_REASONS.join(', ')}.`,
  });
}

/** Whether the caller may make such a one is for `createToken` to say, by its own credential. */
function newTokenOf({ kind, principal, actions, ttlMs, uses }: CreateTokenRequest, peer: AuthenticatedPeer): NewToken {
  // SECURITY: T-36 — a token makes no tokens: it has no device that it would fall with.
  if (peer.via === 'token') throw new IdentityError('identity.token_refused', 'A token does not make tokens.');
  const { principal: by, kind: byKind, device, roles } = peer;
  const creator: Pick<Device, 'principal' | 'kind' | 'roles'> & { readonly device: Device['id'] } = {
    principal: by,
    kind: byKind,
    device,
    roles,
  };
  const terms = { name: principal, principal, ttlMs: Number(ttlMs), by: creator };
  if (uses > 0) {
    if (kind !== 'agent' && kind !== 'node' && kind !== 'service') throw wrongKind('agent, node, service');
    return { ...terms, purpose: 'enrolment', kind, uses, roles: kind === 'agent' ? ['agent'] : [] };
  }
  if (kind !== 'agent' && kind !== 'operator') throw wrongKind('agent, operator');
  return { ...terms, purpose: 'access', kind, actions: actions.length === 0 ? TOKEN_ACTIONS : actions };
}

function wrongKind(kinds: string): DaemonError {
  return new DaemonError('daemon.invalid_request', 'A token of this kind cannot be made.', {
    fix: `The kinds are ${kinds}.`,
  });
}

function unknownDevice(): IdentityError {
  return new IdentityError('identity.unknown_device', 'There is no such device.', {
    fix: '`palyra device list` shows those there are.',
  });
}

function unknownToken(): IdentityError {
  return new IdentityError('identity.unknown_token', 'There is no such token.', {
    fix: '`palyra token list` shows those there are.',
  });
}
