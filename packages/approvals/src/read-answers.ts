import type { Answer } from './answer.ts';
import type { ApprovalContext } from './approval-record.ts';
import type { Asked } from './ask.ts';
import { shownReason } from './deny-reason.ts';
import type { DecisionScope } from './question.ts';
import type { ApprovalRow } from './store/approvals-schema.ts';

/** How a card stands, for whoever waits for it. */
export interface FoundAnswers {
  /** Undefined while there is none. */
  of(asked: Asked): AnswerNews | undefined;
}

type WithoutWaiting<Each> = Each extends Answer ? Omit<Each, 'approvalId' | 'waitedMs'> : never;
export type AnswerNews = WithoutWaiting<Answer>;

type CardState = Pick<ApprovalRow, 'id' | 'state' | 'scope' | 'reason' | 'via_grant'>;

export async function readAnswers(ids: readonly string[], { database }: ApprovalContext): Promise<FoundAnswers> {
  const rows = await database.read
    .selectFrom('approvals')
    .select(['id', 'state', 'scope', 'reason', 'via_grant'])
    .where('id', 'in', [...ids])
    .execute();
  const open = rows.filter(({ state }) => state === 'pending').map(({ id }) => id);
  const waiting = open.length === 0 ? [] : await readAskers(open, database);
  const cards = new Map(rows.map((card) => [card.id, card]));
  const askers = new Set(waiting.map(({ principal, key }) => nameOf({ principal, key })));
  return {
    of(asked) {
      const card = cards.get(asked.approvalId);
      // A card that is gone was pruned, long after it ended.
      return card === undefined ? { kind: 'expired' } : newsOf(card, askers.has(nameOf(asked)));
    },
  };
}

function readAskers(open: readonly string[], database: ApprovalContext['database']) {
  return database.read
    .selectFrom('approval_askers')
    .select(['principal', 'key'])
    .where('approval_id', 'in', [...open])
    .execute();
}

function nameOf({ principal, key }: Pick<Asked, 'principal' | 'key'>): string {
  return JSON.stringify([principal, key]);
}

function newsOf(card: CardState, isStillAsked: boolean): AnswerNews | undefined {
  switch (card.state) {
    case 'pending':
      return isStillAsked ? undefined : { kind: 'cancelled' };
    case 'approved':
      return {
        kind: 'approved',
        scope: card.scope as DecisionScope | null,
        via: card.via_grant === null ? 'answer' : 'grant',
      };
    case 'denied':
      return { kind: 'denied', reason: shownReason(card.reason) };
    case 'expired':
      return { kind: 'expired' };
    case 'cancelled':
      return { kind: 'cancelled' };
    case 'superseded':
      return { kind: 'superseded' };
  }
}
