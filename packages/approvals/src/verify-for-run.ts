import { type ApprovalId, canonicalJson, type JsonValue, type Sha256Hex } from '@palyra/primitives';
import { statement } from '@palyra/storage';
import { scopeOfAll } from './agreed-scope.ts';
import { type Refused, refused } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import { coveringGrants, permitBy, verifyGrant } from './covering-grants.ts';
import type { Permit, PermitOutcome } from './permit.ts';
import { describeAct, promptDigest } from './prompt/prompt-record.ts';
import { checkQuestion, type Question } from './question.ts';
import { findCard, promptOf, readVotes } from './read-card.ts';
import { type ApprovalRow, SPENT_CHANNEL, type VoteRow } from './store/approvals-schema.ts';
import { type VerifiedYes, verifyVotes } from './verify-votes.ts';

/**
 * Finds out anew, from the call as it is about to run and from signatures, whether humans said yes to exactly this.
 * A stored approval is only where to look. Throws `approvals.corrupt` and what storage throws, which refuses the call.
 */
export async function verifyForRun(
  question: Question,
  approvalId: ApprovalId,
  context: ApprovalContext,
): Promise<PermitOutcome> {
  const subject = checkQuestion(question);
  const card = await findCard(approvalId, context);
  if (card === undefined || card.state !== 'approved') return refused('not_approved');
  if (card.via_grant !== null) return coveringGrants(question, context);

  const votes = await readVotes([approvalId], context);
  const { credential: proposer, needs } = question;
  const yes = await verifyVotes(votes, { approvalId, proposer, needs }, context);
  if (yes.kind === 'refused') return yes;
  const changed = whatChanged(card, yes, { question, subject });
  if (changed !== undefined) return changed;

  const { scope } = scopeOfAll(yes.statements);
  if (scope === 'session' || scope === 'timeboxed') return byItsGrant(question, votes, { card, context });
  return onceOnly(question, { card, yes, context });
}

function whatChanged(
  card: ApprovalRow,
  { statements }: VerifiedYes,
  now: { readonly question: Question; readonly subject: Sha256Hex },
): Refused<'other_subject' | 'other_prompt'> | undefined {
  // SECURITY: T-03 — of the call that is about to run, not of the one that the row tells of.
  if (statements.some((said) => said.subject !== now.subject)) return refused('other_subject');
  // SECURITY: T-46 — the prompt that was signed, and the one that this very call would be described with today: a row that
  // was changed before the human looked at it is found here.
  const shown = promptDigest(card.prompt);
  if (statements.some((said) => said.prompt !== shown)) return refused('other_prompt');
  const described = canonicalJson(describeAct(now.question, now.subject) as unknown as JsonValue);
  const wasDescribed = canonicalJson(promptOf(card).what as unknown as JsonValue);
  return described === wasDescribed ? undefined : refused('other_prompt');
}

interface Approved {
  readonly card: ApprovalRow;
  readonly context: ApprovalContext;
}

/** The call that asked uses the grant it brought about, and finds it revoked like anybody else. */
async function byItsGrant(
  { credential: proposer, needs }: Question,
  votes: readonly VoteRow[],
  { card, context }: Approved,
): Promise<PermitOutcome> {
  const row = await context.database.read
    .selectFrom('approval_grants')
    .selectAll()
    .where('approval_id', '=', card.id)
    .executeTakeFirst();
  if (row === undefined) return refused('not_approved');
  if (row.state !== 'live' || (await context.spent.has(row.id))) return refused('revoked');
  const grant = await verifyGrant(row, votes, { proposer, needs }, context);
  return grant.kind === 'refused' ? grant : permitBy([grant], context);
}

async function onceOnly(
  question: Question,
  { card, yes, context }: Approved & { readonly yes: VerifiedYes },
): Promise<Permit | Refused<'already_used' | 'stricter_policy'>> {
  const { database, clock, spent } = context;
  // SECURITY: T-05, T-46 — also when the row was set back: what this process saw used stays used.
  if (card.used_at !== null || (await spent.has(card.id))) return refused('already_used');
  const { holdsMs } = question.needs;
  const begun = Math.min(...yes.statements.map(({ decided_at }) => decided_at));
  if (holdsMs !== undefined && begun + holdsMs <= clock.now()) return refused('stricter_policy');
  // SECURITY: T-05 — compare and set in the transaction that records the intent: of two calls in a race one begins.
  const use = database.write
    .updateTable('approvals')
    .set({ used_by: question.key, used_at: clock.now() })
    .where('id', '=', card.id)
    .where('state', '=', 'approved')
    .where('used_at', 'is', null);
  return {
    kind: 'permitted',
    approvalIds: [card.id as ApprovalId],
    grantIds: [],
    scope: scopeOfAll(yes.statements).scope,
    approval: { approvers: yes.statements.length, assurance: yes.assurance },
    deciders: yes.statements.map(({ decider, device, assurance }) => ({ person: decider, device, assurance })),
    statements: yes.signed,
    steps: [statement(use, { rows: 1 })],
    notifications: [{ channel: SPENT_CHANNEL, payload: card.id }],
  };
}
