import type { ApprovalId } from '@palyra/primitives';
import { scopeOfAll } from './agreed-scope.ts';
import { type Refused, refused } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import { isAsShown } from './check-statement.ts';
import type { GrantPattern } from './decision-statement.ts';
import { promptDigest } from './prompt/prompt-record.ts';
import { type Needs, strictest } from './question.ts';
import { needsOf } from './read-card.ts';
import type { VoteRow } from './store/approvals-schema.ts';
import { type VerifiedYes, verifyVotes } from './verify-votes.ts';

/** What a grant rests on. */
export interface StandingVotes {
  readonly approvalId: string;
  /** Of the card; undefined when it is gone. */
  readonly prompt: string | undefined;
  readonly votes: readonly VoteRow[];
}

export interface VerifiedStanding {
  readonly kind: 'valid';
  readonly pattern: GrantPattern;
  readonly yes: VerifiedYes;
  /** It holds before this time, by what was signed and by what is demanded now. */
  readonly notAfter: number;
}

/** Whether people said yes to more than one use, and to what: the one measure for using, keeping and releasing. */
export async function verifyStanding(
  { approvalId, prompt, votes }: StandingVotes,
  { proposer, needs }: { readonly proposer: string; readonly needs: Needs },
  context: ApprovalContext,
): Promise<VerifiedStanding | Refused> {
  if (prompt === undefined) return refused('not_approved');
  // SECURITY: T-06 — as many people as the prompt said that they signed: one of two is no grant under a laxer policy.
  const demanded = strictest(needsOf({ prompt }), needs);
  // Looked up while the signatures are verified.
  const asking = context.wasAsked(approvalId as ApprovalId, promptDigest(prompt));
  asking.catch(() => undefined);
  const yes = await verifyVotes(votes, { approvalId, proposer, needs: demanded }, context);
  if (yes.kind === 'refused') return yes;
  // SECURITY: T-46 — what it covers, for whom and for how long is what was shown and signed; rows are how it is found.
  if (!yes.statements.every((said) => isAsShown(said, prompt))) return refused('other_prompt');
  // SECURITY: T-46 — and what was shown is what we asked: no call makes the prompt of a grant again to compare it.
  if (!(await asking)) return refused('other_prompt');
  const { scope, expiresAt } = scopeOfAll(yes.statements);
  const pattern = yes.statements[0]?.pattern ?? null;
  if (pattern === null || (scope !== 'session' && scope !== 'timeboxed')) return refused('not_approved');
  const notAfter = Math.min(expiresAt, heldUntil(yes, needs));
  // SECURITY: T-11 — a policy that lets answers hold for less time than before means this one too.
  if (notAfter <= context.clock.now()) return refused('stricter_policy');
  return { kind: 'valid', pattern, yes, notAfter };
}

/** By what is demanded now, however long was said. */
export function heldUntil({ statements }: VerifiedYes, { holdsMs }: Needs): number {
  const begun = Math.min(...statements.map(({ decided_at }) => decided_at));
  return holdsMs === undefined ? Number.POSITIVE_INFINITY : begun + holdsMs;
}
