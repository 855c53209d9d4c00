import type { ApprovalId, GrantId } from '@palyra/primitives';
import type { Notification, Step } from '@palyra/storage';
import type { Refused } from './approval-error.ts';
import type { ApprovalEvent } from './approval-record.ts';
import type { SignedStatement } from './decision-statement.ts';
import type { Assurance, DecisionScope } from './question.ts';

/**
 * A verified yes for one call, now. It is worth nothing until `steps` are committed together with `events` and the record
 * that the call begins: they are what uses it up, and they conflict when it was used up or taken back meanwhile. They do
 * not know the time of their commit: whoever commits first looks whether it is before `notAfter`.
 */
export interface Permit {
  readonly kind: 'permitted';
  readonly approvalIds: readonly ApprovalId[];
  /** The grants that cover it; none for a yes to one call. */
  readonly grantIds: readonly GrantId[];
  readonly scope: DecisionScope;
  /** SECURITY: T-05 — from this time on it must not be used: the caller compares before it commits. */
  readonly notAfter: number;
  /** For policy, which decides again with it. */
  readonly approval: { readonly approvers: number; readonly assurance: Assurance };
  readonly deciders: readonly {
    readonly person: string;
    readonly device: string | null;
    readonly assurance: Assurance;
  }[];
  /** For the attestation. */
  readonly statements: readonly SignedStatement[];
  readonly steps: readonly Step[];
  /** For the journal, which later answers `isSpent` from them. */
  readonly events: readonly ApprovalEvent[];
  readonly notifications: readonly Notification[];
}

export type PermitOutcome = Permit | Refused;
