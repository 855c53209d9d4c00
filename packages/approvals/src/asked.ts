import type { ApprovalId } from '@palyra/primitives';
import type { Question } from './question.ts';
import type { ApprovalRow, AskerRow } from './store/approvals-schema.ts';

/** A question that is before humans, or was: waiting for it tells which. */
export interface Asked {
  readonly kind: 'asked';
  readonly approvalId: ApprovalId;
  readonly principal: string;
  readonly key: string;
  readonly expiresAt: number;
  /** `joined`: somebody had asked the same already; `resumed`: this key had. */
  readonly how: 'new' | 'joined' | 'resumed';
}

export function askedAs(
  row: Pick<ApprovalRow, 'id' | 'expires_at'>,
  { subject: { principal }, key }: Question,
  how: Asked['how'],
): Asked {
  return { kind: 'asked', approvalId: row.id as ApprovalId, principal, key, expiresAt: row.expires_at, how };
}

export function askerOf({ subject, key, credential, run }: Question, approvalId: string, askedAt: number): AskerRow {
  return { principal: subject.principal, key, approval_id: approvalId, credential, run, asked_at: askedAt };
}
