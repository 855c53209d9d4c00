import { type Step, statement } from '@palyra/storage';
import { type Refused, refused } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import { type Asked, askedAs, askerOf } from './asked.ts';
import type { Question } from './question.ts';
import { type ApprovalRow, ASKED_CHANNEL } from './store/approvals-schema.ts';

type OpenCard = Pick<ApprovalRow, 'id' | 'expires_at'>;

/** SECURITY: T-47 — the same question in other words of the agent's is the same card; nobody is asked twice. */
export async function join(
  card: OpenCard,
  question: Question,
  context: ApprovalContext,
): Promise<Asked | Refused<'too_many_waiting'> | undefined> {
  const outcome = await context.database.commit({
    steps: joining(card, question, context),
    // Whoever shows the card may show how many wait for it.
    notifications: [{ channel: ASKED_CHANNEL, payload: card.id }],
  });
  if (outcome.kind === 'committed') return askedAs(card, question, 'joined');
  return (await isFull(card, context)) ? refused('too_many_waiting') : undefined;
}

/** The card first: with its lock on PostgreSQL those who join come one after the other, and are counted so. */
function joining({ id }: OpenCard, question: Question, { database, clock, limits }: ApprovalContext): readonly Step[] {
  const now = clock.now();
  const stillOpen = database.write
    .updateTable('approvals')
    .set({ state: 'pending' })
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .where('expires_at', '>', now);
  // SECURITY: T-39 — a call more costs nobody a look, but a row, a waiter and a word to every inbox.
  const hasRoom = database.write
    .updateTable('approvals')
    .set({ state: 'pending' })
    .where('id', '=', id)
    .where(
      ({ selectFrom, fn }) =>
        selectFrom('approval_askers').select(fn.countAll<number>().as('count')).where('approval_id', '=', id),
      '<',
      limits.waitingPerCard,
    );
  const asker = database.write
    .insertInto('approval_askers')
    .values(askerOf(question, id, now))
    .onConflict((conflict) => conflict.doNothing());
  return [statement(stillOpen, { rows: 1 }), statement(hasRoom, { rows: 1 }), statement(asker, { rows: 1 })];
}

async function isFull({ id }: OpenCard, { database, limits }: ApprovalContext): Promise<boolean> {
  const askers = await database.read
    .selectFrom('approval_askers')
    .select('key')
    .where('approval_id', '=', id)
    .limit(limits.waitingPerCard)
    .execute();
  return askers.length >= limits.waitingPerCard;
}
