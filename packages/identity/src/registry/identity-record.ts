import type { DeviceId } from '@palyra/primitives';
import type { CommitUnit } from '@palyra/storage';
import type { DeviceKind } from '../device-kind.ts';

/** What the journal should say about a change: its entry `device.changed`. */
export interface IdentityEvent {
  readonly kind: 'device';
  readonly change: 'paired' | 'renewed' | 'roles_changed' | 'revoked';
  readonly device: DeviceId;
  readonly deviceKind: DeviceKind;
  /** SHA-256 of the certificate, hexadecimal. */
  readonly certificate?: string;
  /** Who did it. */
  readonly by: string;
}

/** Commits the unit, and what the journal says about it, together or not at all. */
export type CommitIdentity = (
  unit: CommitUnit,
  events: readonly IdentityEvent[],
) => Promise<{ readonly kind: 'committed' } | { readonly kind: 'conflict'; readonly step: number }>;
