import type { Obligations } from './obligations.ts';

/** Stable words for programs; the sentence beside them is for people. */
export const REASON_CODES = {
  allowed: 'A policy permits it.',
  approval_required: 'A human has to approve it.',
  forbidden: 'A policy forbids it, whoever approves.',
  no_permit: 'No policy permits it.',
  approval_insufficient: 'The approval is not as strong as the policies ask for.',
  obligation_unmet: 'The policies permit it only in a stronger sandbox than the one planned.',
  invalid_request: 'The request is malformed or too large to be decided.',
  evaluation_failed: 'The policy engine gave no sound answer.',
} as const;

export type ReasonCode = keyof typeof REASON_CODES;

/** The answer to one authorization request. Only `allow` lets a tool run. */
export interface Decision {
  readonly kind: 'allow' | 'ask' | 'deny';
  /** Of the policies that determined the answer, sorted. */
  readonly policyIds: readonly string[];
  readonly reasonCode: ReasonCode;
  readonly reason: string;
  /** What the reader can do about it; absent when it is allowed. */
  readonly fix?: string;
  readonly obligations: Obligations;
  /** In the observe preset: what the coding preset would have answered. */
  readonly observed?: Omit<Decision, 'observed'>;
}
