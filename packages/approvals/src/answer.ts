import type { ApprovalId } from '@palyra/primitives';
import type { DecisionScope } from './question.ts';

interface Waited {
  readonly approvalId: ApprovalId;
  /** How long this wait took, for whoever stops a run's clock meanwhile. */
  readonly waitedMs: number;
}

/** How waiting ended. `approved` is only news: `verifyForRun` finds out whether it is true. */
export type Answer = Waited &
  (
    | { readonly kind: 'approved'; readonly scope: DecisionScope | null; readonly via: 'answer' | 'grant' }
    /** The reason is the human's, for the agent. */
    | { readonly kind: 'denied'; readonly reason: string | null }
    | { readonly kind: 'expired' }
    | { readonly kind: 'cancelled' }
    /** A rule was made that covers it: decide anew, and ask again with the same key if it is still a question. */
    | { readonly kind: 'superseded' }
    /** Nobody answered yet, and the caller would not wait longer. Asking again with the same key resumes. */
    | { readonly kind: 'parked'; readonly key: string; readonly expiresAt: number }
  );
