import type { ApprovalId, Clock, GrantId, IdSource, Sha256Hex } from '@palyra/primitives';
import type { CommitOutcome, CommitUnit, Database } from '@palyra/storage';
import type { ApprovalLimits } from './approval-limits.ts';
import type { VerifySignature } from './credential.ts';
import type { SignedStatement } from './decision-statement.ts';
import type { DecisionScope } from './question.ts';
import type { SpentMemory } from './spent-memory.ts';
import type { ApprovalsSchema } from './store/approvals-schema.ts';

/** What the journal should say about a change. */
export type ApprovalEvent =
  | {
      readonly kind: 'requested';
      readonly approvalId: ApprovalId;
      readonly principal: string;
      readonly session: string;
      readonly run: string;
      readonly key: string;
      readonly subject: Sha256Hex;
      readonly prompt: string;
      readonly expiresAt: number;
    }
  | {
      /** One of several people said yes, and the question is still open. */
      readonly kind: 'voted';
      readonly approvalId: ApprovalId;
      readonly statement: SignedStatement;
    }
  | {
      readonly kind: 'decided';
      readonly approvalId: ApprovalId;
      readonly principal: string;
      readonly session: string;
      /** One that ended without a yes is spent from then on. */
      readonly outcome: 'approved' | 'denied' | 'expired' | 'cancelled';
      readonly scope?: DecisionScope;
      readonly statement?: SignedStatement;
      /** The grant that answered it. */
      readonly grantId?: GrantId;
    }
  | {
      /** A yes for one use was used, in the commit that records the intent. Its approval is spent from then on. */
      readonly kind: 'used';
      readonly approvalId: ApprovalId;
      readonly principal: string;
      readonly session: string;
      readonly key: string;
    }
  | {
      readonly kind: 'grant';
      /** With a revoked grant its approval is spent from then on; one that is used is not. */
      readonly change: 'issued' | 'used' | 'revoked' | 'expired';
      readonly grantId: GrantId;
      readonly approvalId: ApprovalId;
      readonly principal: string;
      readonly expiresAt: number;
    };

/** Commits the unit, and what the journal says about it, together or not at all. */
export type CommitWithRecord = (
  unit: CommitUnit,
  events: readonly ApprovalEvent[],
) => Promise<Pick<CommitOutcome, 'kind'>>;

/** What every act of this package needs. */
export interface ApprovalContext {
  readonly database: Database<ApprovalsSchema>;
  readonly commit: CommitWithRecord;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Of the log of this home. */
  readonly origin: string;
  readonly limits: ApprovalLimits;
  readonly verify: VerifySignature;
  readonly spent: SpentMemory;
  /** For how long something spent is remembered. */
  readonly spentForMs: number;
  /** Whether the signed record has this question with the prompt of this digest. */
  readonly wasAsked: (approvalId: ApprovalId, prompt: Sha256Hex) => Promise<boolean>;
  /** The questions whose prompt was erased from the signed record. */
  readonly erasedPrompts: () => Promise<readonly string[]>;
}
