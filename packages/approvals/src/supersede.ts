import type { ApprovalId } from '@palyra/primitives';
import { covers } from './approval-effect.ts';
import { ApprovalError } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import type { AlwaysHere } from './decide.ts';
import { endWithoutYes } from './ended-cards.ts';
import { effectsOf } from './read-card.ts';

const TRIES = 20;

/**
 * Ends the open questions that a rule answers, once the policy has it: whoever waits is told to decide anew. It permits
 * nothing, so what it finds in the rows need not be true.
 */
export async function supersede(rule: AlwaysHere, context: ApprovalContext): Promise<readonly ApprovalId[]> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const cards = await answeredBy(rule, context);
    if (cards.length === 0 || (await endWithoutYes(cards, { state: 'superseded', isOver: false }, context)))
      return cards.map(({ id }) => id as ApprovalId);
  }
  throw new ApprovalError('approvals.contended', 'Open questions could not be ended.', {
    fix: 'Try again in a moment.',
  });
}

async function answeredBy({ workspace, effects }: AlwaysHere, { database, clock }: ApprovalContext) {
  const open = await database.read
    .selectFrom('approvals')
    .selectAll()
    .where('workspace', '=', workspace)
    .where('state', '=', 'pending')
    .where('expires_at', '>', clock.now())
    .execute();
  return open.filter((card) => covers(effects, effectsOf(card)));
}
