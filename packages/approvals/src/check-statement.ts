import { canonicalJson, type JsonValue } from '@palyra/primitives';
import { type Refused, refused } from './approval-error.ts';
import type { ApprovalLimits } from './approval-limits.ts';
import type { ApprovalContext } from './approval-record.ts';
import type { DecisionStatement, GrantPattern } from './decision-statement.ts';
import { promptDigest } from './prompt/prompt-record.ts';
import { type DecisionScope, type Needs, offeredScopes } from './question.ts';
import { effectsOf, needsOf } from './read-card.ts';
import type { ApprovalRow } from './store/approvals-schema.ts';

/** Whether a statement that somebody signed is an answer to this card, as it was shown and as far as it was offered. */
export function checkStatement(
  card: ApprovalRow,
  said: DecisionStatement,
  { origin, limits, clock }: Pick<ApprovalContext, 'origin' | 'limits' | 'clock'>,
): Refused<'bad_statement' | 'not_offered'> | undefined {
  // SECURITY: T-46 — for this home, this question and this prompt; one made for another is not an answer to this one.
  if (said.origin !== origin || said.approval_id !== card.id || said.subject !== card.subject) {
    return refused('bad_statement');
  }
  if (said.prompt !== promptDigest(card.prompt)) return refused('bad_statement', 'It is about another prompt.');
  if (said.decided_at < card.asked_at || said.decided_at > clock.now()) {
    return refused('bad_statement', 'It was made at a time when the question was not open.');
  }
  if (said.decision === 'deny') {
    return said.pattern === null && said.scope === 'once' ? undefined : refused('bad_statement');
  }
  const [needs, effects] = [needsOf(card), effectsOf(card)];
  if (!offeredScopes({ needs, effects }).includes(said.scope)) return refused('not_offered');
  // SECURITY: T-46 — the pattern and how long it holds are ours to set: a client could have signed a wider one.
  if (!isSame(said.pattern, patternFor(said.scope, card))) return refused('not_offered', 'It covers something else.');
  const longest = said.decided_at + holdsAtMost(said.scope, { needs, limits });
  return said.expires_at <= longest ? undefined : refused('not_offered', 'It would hold too long.');
}

/** What a yes of this scope covers; null when it covers no more than the call. */
export function patternFor(scope: DecisionScope, card: ApprovalRow): GrantPattern | null {
  if (scope === 'once' || scope === 'always') return null;
  const { principal, workspace, session } = card;
  return { effects: effectsOf(card), principal, workspace, session: scope === 'session' ? session : null };
}

export function holdsAtMost(
  scope: DecisionScope,
  { needs, limits }: { readonly needs: Needs; readonly limits: ApprovalLimits },
): number {
  const byScope = {
    once: limits.onceMs,
    always: limits.onceMs,
    session: limits.sessionMs,
    timeboxed: limits.timeboxMs,
  };
  return Math.min(byScope[scope], needs.holdsMs ?? Number.POSITIVE_INFINITY);
}

export function isSame(left: GrantPattern | null, right: GrantPattern | null): boolean {
  return canonicalJson(left as unknown as JsonValue) === canonicalJson(right as unknown as JsonValue);
}
