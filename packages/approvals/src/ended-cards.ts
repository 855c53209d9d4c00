import type { ApprovalId } from '@palyra/primitives';
import { type Notification, type Step, statement } from '@palyra/storage';
import type { ApprovalContext, ApprovalEvent } from './approval-record.ts';
import { type ApprovalRow, ENDED_CHANNEL, SPENT_CHANNEL } from './store/approvals-schema.ts';

export type EndedCard = Pick<ApprovalRow, 'id' | 'principal' | 'session'>;

/** In one order everywhere: on PostgreSQL two units that lock the same cards in different orders wait for each other. */
export function inLockOrder<Card extends Pick<ApprovalRow, 'id'>>(cards: readonly Card[]): readonly Card[] {
  return cards.toSorted((left, right) => (left.id < right.id ? -1 : Number(left.id > right.id)));
}

/**
 * Ends cards without a yes, all of them or none: the record would else tell of one that ended otherwise. False when one of
 * them changed meanwhile; then they are to be read again.
 */
export async function endWithoutYes(
  cards: readonly EndedCard[],
  { state, isOver }: { readonly state: 'expired' | 'superseded'; readonly isOver: boolean },
  context: ApprovalContext,
): Promise<boolean> {
  const { database, clock, commit, spent } = context;
  const now = clock.now();
  const steps = inLockOrder(cards).map(({ id }): Step => {
    const end = database.write
      .updateTable('approvals')
      .set({ state, ended_at: now })
      .where('id', '=', id)
      .where('state', '=', 'pending')
      .where('expires_at', isOver ? '<=' : '>', now);
    return statement(end, { rows: 1 });
  });
  const outcome = state === 'expired' ? 'expired' : 'cancelled';
  const events = cards.map((card) => endedEvent(card, outcome));
  const committed = await commit({ steps, notifications: cards.flatMap(({ id }) => toldOfEnd(id)) }, events);
  if (committed.kind === 'conflict') return false;
  for (const { id } of cards) spent.add(id);
  return true;
}

/** Whoever waits, and whoever must remember that no yes counts any more. */
export function toldOfEnd(id: string): readonly Notification[] {
  return [
    { channel: ENDED_CHANNEL, payload: id },
    { channel: SPENT_CHANNEL, payload: id },
  ];
}

export function endedEvent({ id, principal, session }: EndedCard, outcome: 'expired' | 'cancelled'): ApprovalEvent {
  return { kind: 'decided', approvalId: id as ApprovalId, principal, session, outcome };
}
