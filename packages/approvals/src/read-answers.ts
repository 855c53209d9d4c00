import type { Answer, SignedNo } from './answer.ts';
import type { ApprovalContext } from './approval-record.ts';
import type { Asked } from './asked.ts';
import { shownReason } from './deny-reason.ts';
import type { DecisionScope } from './question.ts';
import { readVotes } from './read-card.ts';
import type { ApprovalRow } from './store/approvals-schema.ts';
import { countVote } from './verify-votes.ts';

/** How a card stands, for whoever waits for it. */
export interface FoundAnswers {
  /** Undefined while there is none. */
  of(asked: Asked): AnswerNews | undefined;
}

type WithoutWaiting<Each> = Each extends Answer ? Omit<Each, 'approvalId' | 'waitedMs'> : never;
export type AnswerNews = WithoutWaiting<Answer>;

type CardState = Pick<ApprovalRow, 'id' | 'state' | 'scope' | 'via_grant'>;

export async function readAnswers(ids: readonly string[], context: ApprovalContext): Promise<FoundAnswers> {
  const { database } = context;
  const rows = await database.read
    .selectFrom('approvals')
    .select(['id', 'state', 'scope', 'via_grant'])
    .where('id', 'in', [...ids])
    .execute();
  const open = rows.filter(({ state }) => state === 'pending').map(({ id }) => id);
  const waiting = open.length === 0 ? [] : await readAskers(open, database);
  const denied = rows.filter(({ state }) => state === 'denied').map(({ id }) => id);
  const noes = denied.length === 0 ? NOBODY : await readNoes(denied, context);
  const cards = new Map(rows.map((card) => [card.id, card]));
  const askers = new Set(waiting.map(({ principal, key }) => nameOf({ principal, key })));
  return {
    of(asked) {
      const card = cards.get(asked.approvalId);
      // A card that is gone was pruned, long after it ended.
      return card === undefined
        ? { kind: 'expired' }
        : newsOf(card, { isStillAsked: askers.has(nameOf(asked)), no: noes.get(card.id) });
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

interface VerifiedNo {
  readonly reason: string | null;
  readonly decided: SignedNo;
}

const NOBODY: ReadonlyMap<string, VerifiedNo> = new Map();

/** SECURITY: T-46 — who said no, and why, from their signature: the columns can be written by others. */
export async function readNoes(
  ids: readonly string[],
  context: ApprovalContext,
): Promise<ReadonlyMap<string, VerifiedNo>> {
  const noes = new Map<string, VerifiedNo>();
  for (const row of await readVotes(ids, context)) {
    const vote = await countVote(row, { approvalId: row.approval_id }, context);
    if (vote?.said.decision !== 'deny') continue;
    const { said, signed: statement, assurance } = vote;
    const decided = { person: said.decider, device: said.device, assurance, statement };
    noes.set(row.approval_id, { reason: shownReason(said.reason), decided });
  }
  return noes;
}

function nameOf({ principal, key }: Pick<Asked, 'principal' | 'key'>): string {
  return JSON.stringify([principal, key]);
}

interface Found {
  readonly isStillAsked: boolean;
  readonly no: VerifiedNo | undefined;
}

function newsOf(card: CardState, { isStillAsked, no }: Found): AnswerNews | undefined {
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
      return { kind: 'denied', reason: no?.reason ?? null, decided: no?.decided ?? null };
    case 'expired':
      return { kind: 'expired' };
    case 'cancelled':
      return { kind: 'cancelled' };
    case 'superseded':
      return { kind: 'superseded' };
  }
}
