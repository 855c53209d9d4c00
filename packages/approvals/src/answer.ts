import type { ApprovalId } from '@palyra/primitives';
import type { SignedStatement } from './decision-statement.ts';
import type { Assurance, DecisionScope } from './question.ts';

interface Waited {
  readonly approvalId: ApprovalId;
  /** How long this wait took, for whoever stops a run's clock meanwhile. */
  readonly waitedMs: number;
}

/** How waiting ended. `approved` is only news: `verifyForRun` finds out whether it is true. */
export type Answer = Waited &
  (
    | { readonly kind: 'approved'; readonly scope: DecisionScope | null; readonly via: 'answer' | 'grant' }
    /** The reason is the human's, for the agent; the rest is for the attestation, and null when nobody signed a no. */
    | { readonly kind: 'denied'; readonly reason: string | null; readonly decided: SignedNo | null }
    | { readonly kind: 'expired' }
    | { readonly kind: 'cancelled' }
    /** A rule was made that covers it, or the policies changed: decide anew, and ask again with the same key if it is still a question. */
    | { readonly kind: 'superseded' }
    /** Nobody answered yet, and the caller would not wait longer. Asking again with the same key resumes. */
    | { readonly kind: 'parked'; readonly key: string; readonly expiresAt: number }
  );

/** Who said no, as identity knows them now. */
export interface SignedNo {
  readonly person: string;
  readonly device: string | null;
  readonly assurance: Assurance;
  readonly statement: SignedStatement;
}
