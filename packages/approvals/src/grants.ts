import type { ApprovalId, GrantId } from '@palyra/primitives';
import { statement } from '@palyra/storage';
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import { effectInWords } from './approval-effect.ts';
import { ApprovalError } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import { type GrantBasis, readBasis, verifyGrant } from './covering-grants.ts';
import type { DecisionStatement, GrantPattern } from './decision-statement.ts';
import { type Needs, PLAIN_NEEDS } from './question.ts';
import { readVotes } from './read-card.ts';
import {
  type ApprovalsSchema,
  type GrantRow,
  type GrantState,
  SPENT_CHANNEL,
  type VoteRow,
} from './store/approvals-schema.ts';
import { countVote } from './verify-votes.ts';

/** A standing approval, for people to look through. */
export interface Grant {
  readonly grantId: GrantId;
  readonly approvalId: ApprovalId;
  readonly principal: string;
  readonly workspace: string;
  readonly session: string | null;
  readonly scope: string;
  readonly state: GrantState;
  /** By whom, as their signatures say that count today. */
  readonly deciders: readonly string[];
  readonly pattern: GrantPattern | null;
  readonly covers: readonly string[];
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly uses: number;
  readonly lastUsedAt: number | null;
}

export interface GrantFilter {
  readonly principal?: string;
  readonly workspace?: string;
  readonly state?: GrantState;
}

/** What the policies of today say about a grant's effects. */
export type Redecision =
  | { readonly kind: 'deny' }
  | { readonly kind: 'allow' }
  | { readonly kind: 'ask'; readonly needs: Needs };

const MOST = 1_000;

/** Newest first, at most a thousand. */
export async function listGrants(filter: GrantFilter, context: ApprovalContext): Promise<readonly Grant[]> {
  let query = context.database.read.selectFrom('approval_grants').selectAll();
  if (filter.principal !== undefined) query = query.where('principal', '=', filter.principal);
  if (filter.workspace !== undefined) query = query.where('workspace', '=', filter.workspace);
  // In the query: else those that hold would be hidden behind a thousand that ended.
  if (filter.state !== undefined) query = query.where(isInState(filter.state, context));
  const rows = await query.orderBy('id', 'desc').limit(MOST).execute();
  if (rows.length === 0) return [];
  const votes = await readVotes(
    rows.map(({ approval_id }) => approval_id),
    context,
  );
  const byApproval = Map.groupBy(votes, ({ approval_id }) => approval_id);
  const grants: Grant[] = [];
  for (const row of rows) grants.push(await viewOf(row, byApproval.get(row.approval_id) ?? [], context));
  return grants;
}

function isInState(state: GrantState, { clock }: ApprovalContext) {
  return (where: ExpressionBuilder<ApprovalsSchema, 'approval_grants'>): Expression<SqlBool> => {
    const isOver = where('expires_at', '<=', clock.now());
    if (state === 'live') return where.and([where('state', '=', 'live'), where.not(isOver)]);
    if (state !== 'expired') return where('state', '=', state);
    return where.or([where('state', '=', 'expired'), where.and([where('state', '=', 'live'), isOver])]);
  };
}

/** SECURITY: T-46 — what it covers and who said so, from signatures: people and policies judge it by this. */
async function viewOf(row: GrantRow, votes: readonly VoteRow[], context: ApprovalContext): Promise<Grant> {
  const { clock } = context;
  const said: DecisionStatement[] = [];
  for (const vote of votes) {
    const counted = await countVote(vote, { approvalId: row.approval_id }, context);
    if (counted?.said.decision === 'approve') said.push(counted.said);
  }
  const pattern = said[0]?.pattern ?? null;
  return {
    grantId: row.id as GrantId,
    approvalId: row.approval_id as ApprovalId,
    principal: row.principal,
    workspace: row.workspace,
    session: row.session,
    scope: row.scope,
    state: row.state === 'live' && row.expires_at <= clock.now() ? 'expired' : row.state,
    deciders: said.map(({ decider }) => decider),
    pattern,
    covers: (pattern?.effects ?? []).map(effectInWords),
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    uses: row.uses,
    lastUsedAt: row.last_used_at,
  };
}

export interface RevokeInput {
  readonly grantId: GrantId;
  /** Who revokes, as the daemon authenticated it. */
  readonly by: string;
}

export type RevokeOutcome = { readonly kind: 'revoked' } | { readonly kind: 'conflict'; readonly state: GrantState };

/** Whatever runs under it goes on; nothing new begins. Throws `approvals.not_found`. */
export async function revokeGrant({ grantId, by }: RevokeInput, context: ApprovalContext): Promise<RevokeOutcome> {
  const row = await findGrant(grantId, context);
  const isEnded = await endGrant(row, { state: 'revoked', by }, context);
  if (isEnded) return { kind: 'revoked' };
  return { kind: 'conflict', state: (await findGrant(grantId, context)).state };
}

async function findGrant(grantId: GrantId, { database }: ApprovalContext): Promise<GrantRow> {
  const query = database.read.selectFrom('approval_grants').selectAll().where('id', '=', grantId);
  const row = await query.executeTakeFirst();
  if (row !== undefined) return row;
  throw new ApprovalError('approvals.not_found', 'There is no grant with this id.', {
    fix: 'List the grants with palyra grants list.',
  });
}

async function endGrant(
  row: GrantRow,
  { state, by }: { readonly state: 'revoked' | 'fallen' | 'expired'; readonly by: string },
  { database, clock, commit, spent }: ApprovalContext,
): Promise<boolean> {
  const end = database.write
    .updateTable('approval_grants')
    .set({ state, ended_at: clock.now(), ended_by: by })
    .where('approval_id', '=', row.approval_id)
    .where('state', '=', 'live');
  const { id, approval_id, principal, expires_at: expiresAt } = row;
  const outcome = await commit(
    { steps: [statement(end, { rows: 1 })], notifications: [{ channel: SPENT_CHANNEL, payload: approval_id }] },
    [
      {
        kind: 'grant',
        change: state === 'expired' ? 'expired' : 'revoked',
        grantId: id as GrantId,
        approvalId: approval_id as ApprovalId,
        principal,
        expiresAt,
      },
    ],
  );
  if (outcome.kind === 'conflict') return false;
  // SECURITY: T-46 — by the approval that was signed, not by the id of a row, which can be changed.
  spent.add(approval_id);
  return true;
}

export interface RedecideInput {
  /** The digest of the policies that are active now. */
  readonly policySet: string;
  decide(grant: Grant): Promise<Redecision> | Redecision;
}

/**
 * After a policy change: a grant falls when the new set denies what it covers or demands more of the answer than it has;
 * otherwise it stands. Until this is done nothing is lost: every use is measured by the needs of the day as well.
 */
export async function redecideGrants(
  { policySet, decide }: RedecideInput,
  context: ApprovalContext,
): Promise<{ readonly stood: readonly GrantId[]; readonly fell: readonly GrantId[] }> {
  const { database, clock } = context;
  const stood: GrantId[] = [];
  const fell: GrantId[] = [];
  const rows = await database.read
    .selectFrom('approval_grants')
    .selectAll()
    .where('state', '=', 'live')
    .where('expires_at', '>', clock.now())
    .where('policy_set', '!=', policySet)
    .execute();
  for (const row of rows) {
    const basis = await readBasis([row], context);
    const answer = await decide(await viewOf(row, basis.votes, context));
    if (await stands(row, basis, { answer, context })) {
      await keep(row, policySet, context);
      stood.push(row.id as GrantId);
    } else if (await endGrant(row, { state: 'fallen', by: policySet }, context)) fell.push(row.id as GrantId);
  }
  return { stood, fell };
}

async function stands(
  row: GrantRow,
  basis: GrantBasis,
  { answer, context }: { readonly answer: Redecision; readonly context: ApprovalContext },
): Promise<boolean> {
  // SECURITY: T-11 — denied now is denied, however it was answered under the policies of before.
  if (answer.kind === 'deny') return false;
  const needs = answer.kind === 'allow' ? PLAIN_NEEDS : answer.needs;
  if (answer.kind === 'ask' && needs.offer === 'once') return false;
  return (await verifyGrant(row, basis, { proposer: '', needs }, context)).kind === 'valid';
}

async function keep(row: GrantRow, policySet: string, { database }: ApprovalContext): Promise<void> {
  const update = database.write
    .updateTable('approval_grants')
    .set({ policy_set: policySet })
    .where('id', '=', row.id)
    .where('policy_set', '=', row.policy_set);
  await database.commit({ steps: [statement(update)] });
}

/** Those whose time is over, so that lists and the journal say so. */
export async function expireGrants(context: ApprovalContext): Promise<number> {
  const rows = await context.database.read
    .selectFrom('approval_grants')
    .selectAll()
    .where('state', '=', 'live')
    .where('expires_at', '<=', context.clock.now())
    .limit(MOST)
    .execute();
  for (const row of rows) await endGrant(row, { state: 'expired', by: 'clock' }, context);
  return rows.length;
}
