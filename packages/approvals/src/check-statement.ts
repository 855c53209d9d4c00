import { canonicalJson, type JsonValue } from '@palyra/primitives';
import { type Refused, refused } from './approval-error.ts';
import type { ApprovalLimits } from './approval-limits.ts';
import type { ApprovalContext } from './approval-record.ts';
import { type DecisionStatement, type GrantPattern, STATEMENT_FORMATS } from './decision-statement.ts';
import { MOST_REASON } from './deny-reason.ts';
import { reachShown } from './prompt/prompt-options.ts';
import { type ApprovalPromptRecord, promptDigest } from './prompt/prompt-record.ts';
import type { DecisionScope } from './question.ts';
import { promptOf } from './read-card.ts';
import type { ApprovalRow } from './store/approvals-schema.ts';

/** Whether a statement that somebody signed is an answer to this card, as it was shown and as far as it was offered. */
export function checkStatement(
  card: ApprovalRow,
  said: DecisionStatement,
  { origin, limits, clock }: Pick<ApprovalContext, 'origin' | 'limits' | 'clock'>,
): Refused<'bad_statement' | 'not_offered'> | undefined {
  // SECURITY: T-46 — for this home, this question and this prompt; one made for another is not an answer to this one.
  const isOfHere = said.origin === origin && said.approval_id === card.id;
  if (!isOfHere || !isAbout(promptOf(card), said)) return refused('bad_statement');
  if (said.decision === 'deny') {
    // A no is taken whatever the clock of its device shows: it can only take away.
    const isShort = (said.reason?.length ?? 0) <= MOST_REASON;
    return said.pattern === null && said.scope === 'once' && isShort ? undefined : refused('bad_statement');
  }
  const { clockSkewMs } = limits;
  if (said.decided_at < card.asked_at - clockSkewMs || said.decided_at > clock.now() + clockSkewMs) {
    return refused('bad_statement', 'It was made at a time when the question was not open.');
  }
  if (!isAsShown(said, card.prompt)) return refused('not_offered');
  return said.expires_at <= said.decided_at + longestHold(said.scope, limits)
    ? undefined
    : refused('not_offered', 'It would hold too long.');
}

/** Whether a yes is one that this prompt offers, for no more and no longer than the prompt says. */
export function isAsShown(said: DecisionStatement, prompt: string): boolean {
  if (said.prompt !== promptDigest(prompt)) return false;
  const shown = promptOf({ prompt });
  if (shown.approval_id !== said.approval_id || !isAbout(shown, said)) return false;
  // SECURITY: T-46 — the pattern and how long it holds are in what was shown: a client could have signed a wider one, and
  // a row could have been edited before anybody looked.
  const reach = reachShown(shown, said.scope);
  if (reach === undefined || !isSame(said.pattern, reach.pattern)) return false;
  return said.expires_at <= said.decided_at + reach.holdsMs;
}

function isAbout({ format, what }: ApprovalPromptRecord, said: DecisionStatement): boolean {
  return said.format === STATEMENT_FORMATS[format] && said.subject === what.subject;
}

/** SECURITY: T-46 — the operator's limits of today, whatever a prompt says of them. */
export function longestHold(scope: DecisionScope, { onceMs, sessionMs, timeboxMs }: ApprovalLimits): number {
  return { once: onceMs, always: onceMs, session: sessionMs, timeboxed: timeboxMs }[scope];
}

export function isSame(left: GrantPattern | null, right: GrantPattern | null): boolean {
  return canonicalJson(left as unknown as JsonValue) === canonicalJson(right as unknown as JsonValue);
}
