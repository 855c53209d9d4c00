import type { ApprovalId } from '@palyra/primitives';
import { statement } from '@palyra/storage';
import type { ApprovalContext } from './approval-record.ts';
import { cancelAsked } from './cancel.ts';
import { describeQuestion, questionDigest } from './prompt/prompt-record.ts';
import type { Question } from './question.ts';
import type { ApprovalRow } from './store/approvals-schema.ts';
import { verifyForRun } from './verify-for-run.ts';

/**
 * Takes a key off a card that can do nothing more for it: another call used its one yes, the policies demand more now, or
 * its no is old. True when it did; then the key asks anew. Else it would be refused for ever.
 */
export async function leaveUnlessServed(
  card: ApprovalRow,
  question: Question,
  context: ApprovalContext,
): Promise<boolean> {
  if (await canServe(card, question, context)) return false;
  const { key, subject } = question;
  if (isOpen(card, context)) await cancelAsked({ principal: subject.principal, key }, context);
  else await takeOff(card, question, context);
  return true;
}

async function canServe(card: ApprovalRow, question: Question, context: ApprovalContext): Promise<boolean> {
  const { clock, limits } = context;
  if (card.state === 'approved') {
    // SECURITY: T-05 — by the same question that is put before it runs, so that only what is good is resumed.
    return (await verifyForRun(question, card.id as ApprovalId, context)).kind === 'permitted';
  }
  if (isOpen(card, context)) {
    const subject = card.subject as Parameters<typeof describeQuestion>[0]['subject'];
    return card.asks === questionDigest(describeQuestion({ question, subject, limits }));
  }
  // Whoever comes back is told how it ended, for as long as a no answers the very same question.
  const endedAt = card.ended_at ?? card.expires_at;
  return card.state !== 'superseded' && endedAt > clock.now() - limits.denialHoldsMs;
}

function isOpen({ state, expires_at }: ApprovalRow, { clock }: ApprovalContext): boolean {
  return state === 'pending' && expires_at > clock.now();
}

async function takeOff(
  { id }: ApprovalRow,
  { key, subject: { principal } }: Question,
  { database }: ApprovalContext,
): Promise<void> {
  const gone = database.write
    .deleteFrom('approval_askers')
    .where('principal', '=', principal)
    .where('key', '=', key)
    .where('approval_id', '=', id);
  await database.commit({ steps: [statement(gone)] });
}
