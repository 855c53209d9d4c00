import type { Client as RpcClient } from '@connectrpc/connect';
import type { DeviceService, PairDeviceResponse, Device as WireDevice } from '@palyra/api';
import { ClientError } from '../client-error.ts';
import { translateError } from '../connection/translate-error.ts';
import { said, text, time } from '../wire/plain.ts';
import { ask } from './call.ts';

/** A credential with a certificate. */
export interface Device {
  readonly device_id: string;
  readonly principal: string;
  /** `operator`, `agent`, `node` or `service`. */
  readonly kind: string;
  readonly name: string;
  readonly roles: readonly string[];
  /** `same_host`, `separate_device` or `passkey`. */
  readonly place: string;
  readonly key_sha256: string;
  readonly created_at?: string;
  readonly not_after?: string;
  /** Absent: it is not revoked. */
  readonly revoked_at?: string;
  readonly revoked_reason?: string;
}

export interface WhoAmI {
  readonly principal: string;
  /** Absent for a token. */
  readonly device_id?: string;
  readonly roles: readonly string[];
}

export interface NewDevice {
  readonly kind: string;
  readonly name: string;
  /** Of another person; the caller unless told. */
  readonly principal?: string;
}

export type PairingEvent =
  | {
      readonly kind: 'invitation';
      readonly invitation_id: string;
      readonly pin: string;
      readonly join_url: string;
      readonly address: string;
      readonly expires_at?: string;
    }
  /** Proved the PIN and waits for `confirmPairing`. */
  | {
      readonly kind: 'candidate';
      readonly name: string;
      readonly wants: string;
      readonly address: string;
      readonly key_sha256: string;
    }
  | { readonly kind: 'progress'; readonly says: string }
  | { readonly kind: 'joined'; readonly device: Device };

export interface Devices {
  whoAmI(): Promise<WhoAmI>;
  list(options?: { readonly includeRevoked?: boolean }): Promise<readonly Device[]>;
  /** By its id or the last 4 or more characters of it. Its open streams close. */
  revoke(id: string, reason?: string): Promise<Device>;
  /** Until the device has joined, or the time is over. */
  pair(device: NewDevice, options?: { readonly signal?: AbortSignal }): AsyncIterable<PairingEvent>;
  confirmPairing(invitationId: string, answer: 'accept' | 'refuse'): Promise<void>;
}

export function createDevices(rpc: RpcClient<typeof DeviceService>, clientSignal: AbortSignal): Devices {
  return {
    async whoAmI() {
      const { principal, deviceId, roles } = await ask(rpc.whoAmI({}));
      return said<WhoAmI>({ principal, device_id: text(deviceId), roles });
    },
    async list({ includeRevoked = false } = {}) {
      const { devices } = await ask(rpc.listDevices({ includeRevoked }));
      return devices.map(toDevice);
    },
    async revoke(deviceId, reason = 'unspecified') {
      const { device } = await ask(rpc.revokeDevice({ deviceId, reason }));
      if (device === undefined) throw new ClientError('client.protocol', 'palyrad told no device.');
      return toDevice(device);
    },
    async *pair({ kind, name, principal = '' }, { signal } = {}) {
      const until = signal === undefined ? clientSignal : AbortSignal.any([clientSignal, signal]);
      try {
        for await (const told of rpc.pairDevice({ kind, name, principal }, { signal: until })) {
          const event = toPairingEvent(told);
          if (event !== undefined) yield event;
        }
      } catch (thrown) {
        if (signal?.aborted !== true) throw translateError(thrown);
      }
    },
    async confirmPairing(invitationId, answer) {
      await ask(rpc.confirmPairing({ invitationId, accept: answer === 'accept' }));
    },
  };
}

function toDevice(wire: WireDevice): Device {
  return said<Device>({
    device_id: wire.deviceId,
    principal: wire.principal,
    kind: wire.kind,
    name: wire.name,
    roles: wire.roles,
    place: wire.place,
    key_sha256: wire.keySha256,
    created_at: time(wire.createdAt),
    not_after: time(wire.notAfter),
    revoked_at: time(wire.revokedAt),
    revoked_reason: text(wire.revokedReason),
  });
}

function toPairingEvent({ event }: PairDeviceResponse): PairingEvent | undefined {
  switch (event.case) {
    case 'invitation': {
      const { invitationId, pin, joinUrl, address, expiresAt } = event.value;
      const until = time(expiresAt);
      const invitation = { kind: 'invitation', invitation_id: invitationId, pin, join_url: joinUrl, address } as const;
      return until === undefined ? invitation : { ...invitation, expires_at: until };
    }
    case 'candidate': {
      const { name, kind, address, keySha256 } = event.value;
      return { kind: 'candidate', name, wants: kind, address, key_sha256: keySha256 };
    }
    case 'progress':
      return { kind: 'progress', says: event.value };
    case 'joined':
      return { kind: 'joined', device: toDevice(event.value) };
    case undefined:
      return undefined;
  }
}
