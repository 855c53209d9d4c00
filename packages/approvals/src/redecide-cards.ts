import type { ApprovalId } from '@palyra/primitives';
import { statement } from '@palyra/storage';
import type { ApprovalContext } from './approval-record.ts';
import { endWithoutYes } from './ended-cards.ts';
import type { Redecision } from './grants.ts';
import { cardsOf, type PendingToolApproval } from './list-approvals.ts';
import type { Needs } from './question.ts';
import { needsOf } from './read-card.ts';
import type { ApprovalRow } from './store/approvals-schema.ts';

export interface RedecideCardsInput {
  readonly policySet: string;
  /** What the new policies say of the call behind a card; of one that is not at hand, deny: whoever comes back asks anew. */
  decideCard(card: PendingToolApproval): Promise<Redecision> | Redecision;
}

const AT_ONCE = 200;

/**
 * After a policy change: an open question that the new set denies, allows without asking, or asks with other demands is
 * ended as superseded. Whoever waits decides anew, and is refused, let through or asks with the new demands: ending it
 * permits nothing.
 */
export async function redecideCards(
  { policySet, decideCard }: RedecideCardsInput,
  context: ApprovalContext,
): Promise<readonly ApprovalId[]> {
  const ended: ApprovalId[] = [];
  for (let after = ''; ; ) {
    const rows = await openUnderOthers(policySet, after, context);
    if (rows.length === 0) return ended;
    after = rows.at(-1)?.id ?? after;
    for (const [i, card] of (await cardsOf(rows, context)).entries()) {
      const row = rows[i] as ApprovalRow;
      if (isStillAsked(await decideCard(card), needsOf(row))) await keep(row, policySet, context);
      // Whatever ended it meanwhile ended it.
      else if (await endWithoutYes([row], { state: 'superseded', isOver: false }, context)) ended.push(card.approvalId);
    }
  }
}

function openUnderOthers(
  policySet: string,
  after: string,
  { database, clock }: ApprovalContext,
): Promise<readonly ApprovalRow[]> {
  return database.read
    .selectFrom('approvals')
    .selectAll()
    .where('state', '=', 'pending')
    .where('expires_at', '>', clock.now())
    .where('policy_set', '!=', policySet)
    .where('id', '>', after)
    .orderBy('id')
    .limit(AT_ONCE)
    .execute();
}

/** SECURITY: T-11 — with the very demands that the human reads; else an answer would be to a question nobody has now. */
function isStillAsked(answer: Redecision, shown: Needs): boolean {
  if (answer.kind !== 'ask') return false;
  const { approvers, assurance, offer, holdsMs } = answer.needs;
  return (
    approvers === shown.approvers &&
    assurance === shown.assurance &&
    // Where no rule could be written, `always` was shown as `session`.
    (offer === shown.offer || (offer === 'always' && shown.offer === 'session')) &&
    holdsMs === shown.holdsMs
  );
}

async function keep({ id }: ApprovalRow, policySet: string, { database }: ApprovalContext): Promise<void> {
  const update = database.write
    .updateTable('approvals')
    .set({ policy_set: policySet })
    .where('id', '=', id)
    .where('state', '=', 'pending');
  await database.commit({ steps: [statement(update)] });
}
