import type { ApprovalId, GrantId } from '@palyra/primitives';
import { type CommitUnit, type Step, sql, statement } from '@palyra/storage';
import { type AgreedScope, scopeOfAll } from './agreed-scope.ts';
import type { ApprovalContext, ApprovalEvent } from './approval-record.ts';
import type { AlwaysHere, DecideOutcome } from './decide.ts';
import {
  type DecisionStatement,
  type GrantPattern,
  parseStatement,
  type SignedStatement,
} from './decision-statement.ts';
import { shownReason } from './deny-reason.ts';
import { inLockOrder, toldOfEnd } from './ended-cards.ts';
import type { DecisionScope } from './question.ts';
import { needsOf } from './read-card.ts';
import { type ApprovalRow, ENDED_CHANNEL, type VoteRow } from './store/approvals-schema.ts';

export interface Deciding {
  readonly card: ApprovalRow;
  readonly said: DecisionStatement;
  readonly signed: SignedStatement;
  /** Those before. */
  readonly votes: readonly VoteRow[];
  /** Open cards that the answer covers too, if it is one for more than one use. */
  readonly released: readonly ApprovalRow[];
}

interface DecisionUnit {
  readonly unit: CommitUnit;
  readonly events: readonly ApprovalEvent[];
  readonly outcome: DecideOutcome;
}

/** All that one answer changes, as one unit, which holds only if the card is as it was read. */
export function decisionUnit(deciding: Deciding, context: ApprovalContext): DecisionUnit {
  if (deciding.said.decision === 'deny') return denial(deciding, context);
  const needed = needsOf(deciding.card).approvers;
  const approvers = deciding.votes.length + 1;
  return approvers < needed ? vote(deciding, { approvers, needed }, context) : approval(deciding, context);
}

function denial({ card, said, signed }: Deciding, context: ApprovalContext): DecisionUnit {
  const now = context.clock.now();
  // As visible text: PostgreSQL stores no NUL, and a no is taken whatever it says.
  const ended = { state: 'denied', reason: shownReason(said.reason), ended_at: now } as const;
  return {
    unit: {
      steps: [endCard(card, ended, context), putVote({ card, said, signed }, context), countDenial(card, context)],
      notifications: toldOfEnd(card.id),
    },
    events: [decided(card, 'denied', { statement: signed })],
    outcome: { kind: 'decided', state: 'denied', scope: 'once', released: [] },
  };
}

function vote(
  { card, said, signed }: Deciding,
  count: { readonly approvers: number; readonly needed: number },
  context: ApprovalContext,
): DecisionUnit {
  return {
    unit: { steps: [endCard(card, { votes: card.votes + 1 }, context), putVote({ card, said, signed }, context)] },
    events: [{ kind: 'voted', approvalId: card.id as ApprovalId, statement: signed }],
    outcome: { kind: 'counted', ...count },
  };
}

function approval(deciding: Deciding, context: ApprovalContext): DecisionUnit {
  const { card, said, signed, released } = deciding;
  const now = context.clock.now();
  const { scope, expiresAt } = agreedScope(deciding);
  const isStanding = scope === 'session' || scope === 'timeboxed';
  const grantId = isStanding ? context.ids.newId('grant') : undefined;
  const ended = { state: 'approved', votes: card.votes + 1, scope, ended_at: now } as const;
  // SECURITY: T-39 — every card first, and in one order: two answers that release each other's cards would else each hold
  // what the other waits for.
  const cards = inLockOrder([card, ...released]);
  const steps: Step[] = [
    ...cards.map((each) => (each === card ? endCard(card, ended, context) : release(each, grantId, context))),
    putVote({ card, said, signed }, context),
    forgetDenials(card, context),
  ];
  const events: ApprovalEvent[] = [decided(card, 'approved', { scope, statement: signed })];
  if (grantId !== undefined) {
    steps.push(insertGrant({ card, pattern: said.pattern, grantId, scope, expiresAt }, context));
    const [approvalId, principal] = [card.id as ApprovalId, card.principal];
    events.push({ kind: 'grant', change: 'issued', grantId, approvalId, principal, expiresAt });
    events.push(...released.map((other) => decided(other, 'approved', { scope, grantId })));
  }
  return {
    unit: {
      steps,
      notifications: [card, ...released].map(({ id }) => ({ channel: ENDED_CHANNEL, payload: id })),
    },
    events,
    outcome: {
      kind: 'decided',
      state: 'approved',
      scope,
      ...(grantId === undefined ? {} : { grantId }),
      ...(scope === 'always' && said.pattern !== null ? { alwaysHere: ruleOf(said.pattern) } : {}),
      released: released.map(({ id }) => id as ApprovalId),
    },
  };
}

function agreedScope({ said, votes }: Deciding): AgreedScope {
  return scopeOfAll([said, ...votes.flatMap((row) => parseStatement(row.statement) ?? [])]);
}

/** SECURITY: T-46 — of what was shown and signed; the row could say anything. */
function ruleOf({ workspace, effects }: GrantPattern): AlwaysHere {
  return { workspace, effects };
}

/**
 * SECURITY: T-05 — compare and set: open, with as many votes as were read, and not over by the clock. Each yes is a vote
 * more, also when one before does not count any more: so two at once see each other.
 */
function endCard(card: ApprovalRow, changes: Partial<ApprovalRow>, { database, clock }: ApprovalContext): Step {
  const update = database.write
    .updateTable('approvals')
    .set(changes)
    .where('id', '=', card.id)
    .where('state', '=', 'pending')
    .where('votes', '=', card.votes)
    .where('expires_at', '>', clock.now());
  return statement(update, { rows: 1 });
}

type Voting = Pick<Deciding, 'card' | 'said' | 'signed'>;

/** Whoever said yes may still say no, or yes again once it does not hold any more; and no row keeps anybody's place. */
function putVote(voting: Voting, { database }: Pick<ApprovalContext, 'database'>): Step {
  const { text, signature } = voting.signed;
  const put = database.write
    .insertInto('approval_votes')
    .values(voteRow(voting))
    .onConflict((conflict) => conflict.columns(['approval_id', 'person']).doUpdateSet({ statement: text, signature }));
  return statement(put, { rows: 1 });
}

export function voteRow({ card, said, signed }: Voting): VoteRow {
  return { approval_id: card.id, person: said.decider, statement: signed.text, signature: signed.signature };
}

interface Granting {
  readonly card: ApprovalRow;
  readonly pattern: GrantPattern | null;
  readonly grantId: GrantId;
  readonly scope: DecisionScope;
  readonly expiresAt: number;
}

function insertGrant(granting: Granting, { database, clock }: ApprovalContext): Step {
  const { card, grantId, scope, expiresAt } = granting;
  const { principal, workspace, session } = granting.pattern ?? card;
  const row = database.write.insertInto('approval_grants').values({
    id: grantId,
    approval_id: card.id,
    principal,
    workspace,
    session,
    scope,
    state: 'live',
    policy_set: card.policy_set,
    issued_at: clock.now(),
    expires_at: expiresAt,
    ended_at: null,
    ended_by: null,
    uses: 0,
    last_used_at: null,
  });
  return statement(row, { rows: 1 });
}

/** All of them, or the record would tell of one that ended otherwise: then they are looked for again. */
function release({ id }: ApprovalRow, grantId: GrantId | undefined, { database, clock }: ApprovalContext): Step {
  const update = database.write
    .updateTable('approvals')
    .set({ state: 'approved', via_grant: grantId ?? null, ended_at: clock.now() })
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .where('expires_at', '>', clock.now());
  return statement(update, { rows: 1 });
}

function forgetDenials({ principal }: ApprovalRow, { database }: ApprovalContext): Step {
  return statement(
    database.write.updateTable('approval_principals').set({ denials: 0 }).where('principal', '=', principal),
  );
}

/** SECURITY: T-47 — so many in a row, and nobody is asked for a while, however the next question is worded. */
function countDenial({ principal }: ApprovalRow, { database, clock, limits }: ApprovalContext): Step {
  const now = clock.now();
  const recent = sql<number>`case when approval_principals.denied_at > ${now - limits.denialWindowMs}
    then approval_principals.denials + 1 else 1 end`;
  const isEnough = sql`${recent} >= ${limits.coolDownAfter}`;
  const first = limits.coolDownAfter <= 1;
  const upsert = database.write
    .insertInto('approval_principals')
    .values({
      principal,
      denials: first ? 0 : 1,
      denied_at: now,
      cooling_until: first ? now + limits.coolDownMs : 0,
    })
    .onConflict((conflict) =>
      conflict.column('principal').doUpdateSet({
        denials: sql<number>`case when ${isEnough} then 0 else ${recent} end`,
        denied_at: now,
        cooling_until: sql<number>`case when ${isEnough} then ${now + limits.coolDownMs}
          else approval_principals.cooling_until end`,
      }),
    );
  return statement(upsert, { rows: 1 });
}

function decided(
  { id, principal, session }: ApprovalRow,
  outcome: 'approved' | 'denied',
  more: Pick<Extract<ApprovalEvent, { kind: 'decided' }>, 'scope' | 'statement' | 'grantId'>,
): ApprovalEvent {
  return { kind: 'decided', approvalId: id as ApprovalId, principal, session, outcome, ...more };
}
