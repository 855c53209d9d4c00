import type { DeviceId, TokenId } from '@palyra/primitives';
import type { CommitUnit } from '@palyra/storage';
import type { DeviceKind } from '../device-kind.ts';

/** What the journal should say about a change; `identityEntryOf` says how. */
export type IdentityEvent = DeviceEvent | TokenEvent | AuthorityEvent;

export interface DeviceEvent {
  readonly kind: 'device';
  readonly change: 'paired' | 'renewed' | 'roles_changed' | 'revoked';
  readonly device: DeviceId;
  readonly deviceKind: DeviceKind;
  /** SHA-256 of the certificate, hexadecimal. */
  readonly certificate?: string;
  /** Who did it. */
  readonly by: string;
}

export interface TokenEvent {
  readonly kind: 'token';
  readonly change: 'created' | 'revoked';
  readonly token: TokenId;
  readonly purpose: 'access' | 'enrolment';
  /** Whom it stands for. */
  readonly principal: string;
  readonly by: string;
}

export interface AuthorityEvent {
  readonly kind: 'authority';
  readonly change: 'prepared' | 'activated' | 'retired';
  /** SHA-256 of the certificate that the step was about, hexadecimal. */
  readonly authority: string;
  readonly by: string;
}

/** A draft of the journal's, whose format is its own affair. */
export type IdentityEntry =
  | {
      readonly kind: 'device.changed';
      readonly data: {
        readonly device_id: DeviceId;
        readonly change: DeviceEvent['change'];
        readonly kind: DeviceKind;
        readonly certificate?: string;
      };
    }
  | {
      readonly kind: 'token.changed';
      readonly data: {
        readonly token_id: TokenId;
        readonly change: TokenEvent['change'];
        readonly purpose: TokenEvent['purpose'];
        readonly principal: string;
      };
    }
  | {
      readonly kind: 'authority.changed';
      readonly data: { readonly change: AuthorityEvent['change']; readonly authority: string };
    };

/** For whoever has the journal. */
export function identityEntryOf(event: IdentityEvent): IdentityEntry {
  switch (event.kind) {
    case 'device': {
      const { device: device_id, change, deviceKind: kind, certificate } = event;
      const data = { device_id, change, kind, ...(certificate === undefined ? {} : { certificate }) };
      return { kind: 'device.changed', data };
    }
    case 'token': {
      const { token: token_id, change, purpose, principal } = event;
      return { kind: 'token.changed', data: { token_id, change, purpose, principal } };
    }
    case 'authority': {
      const { change, authority } = event;
      return { kind: 'authority.changed', data: { change, authority } };
    }
  }
}

/** Commits the unit, and what the journal says about it, together or not at all. */
export type CommitIdentity = (
  unit: CommitUnit,
  events: readonly IdentityEvent[],
) => Promise<{ readonly kind: 'committed' } | { readonly kind: 'conflict'; readonly step: number }>;
