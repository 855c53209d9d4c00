import type { ApprovalId, Sha256Hex } from '@palyra/primitives';
import { statement } from '@palyra/storage';
import { scopeOfAll } from './agreed-scope.ts';
import { type Refused, refused } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import { isAsShown } from './check-statement.ts';
import { coveringGrants, permitBy, verifyGrant } from './covering-grants.ts';
import type { Permit, PermitOutcome } from './permit.ts';
import { describeQuestion, questionDigest, subjectShown } from './prompt/prompt-record.ts';
import { checkQuestion, type Question, strictest } from './question.ts';
import { findCard, needsOf, promptOf, readVotes } from './read-card.ts';
import { type ApprovalRow, SPENT_CHANNEL, type VoteRow } from './store/approvals-schema.ts';
import { heldUntil } from './verify-standing.ts';
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
  const { credential: proposer } = question;
  // SECURITY: T-06 — as many people as were asked for then, or now if that is more.
  const needs = strictest(needsOf(card), question.needs);
  const yes = await verifyVotes(votes, { approvalId, proposer, needs }, context);
  if (yes.kind === 'refused') return yes;
  const { scope } = scopeOfAll(yes.statements);
  const isStanding = scope === 'session' || scope === 'timeboxed';
  const changed = whatChanged(card, yes, { question, subject, isStanding }, context);
  if (changed !== undefined) return changed;
  if (isStanding) return byItsGrant(question, votes, { card, context });
  return onceOnly(question, { card, yes, context });
}

interface Now {
  readonly question: Question;
  readonly subject: Sha256Hex;
  readonly isStanding: boolean;
}

function whatChanged(
  card: ApprovalRow,
  yes: VerifiedYes,
  { question, subject, isStanding }: Now,
  { limits, clock }: ApprovalContext,
): Refused<'other_subject' | 'other_prompt' | 'stricter_policy'> | undefined {
  const { statements } = yes;
  const prompt = promptOf(card);
  // SECURITY: T-03 — of the call that is about to run, not of the one that the row tells of.
  const about = subjectShown(subject, prompt);
  if (statements.some((said) => said.subject !== about)) return refused('other_subject');
  // SECURITY: T-11 — the policies of now: a yes for a session is no answer where they want one each time.
  if (isStanding && question.needs.offer === 'once') return refused('stricter_policy');
  if (heldUntil(yes, question.needs) <= clock.now()) return refused('stricter_policy');
  // SECURITY: T-46 — the prompt that was signed, and all of it that this very question would be shown with today: a row
  // that was changed before the human looked at it is found here.
  if (statements.some((said) => !isAsShown(said, card.prompt))) return refused('other_prompt');
  const today = questionDigest(describeQuestion({ question, subject: about, limits }));
  return questionDigest(prompt) === today ? undefined : refused('other_prompt');
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
  if (row.state !== 'live' || (await context.spent.has(card.id))) return refused('revoked');
  const basis = { votes, prompts: new Map([[card.id, card.prompt]]) };
  const grant = await verifyGrant(row, basis, { proposer, needs }, context);
  return grant.kind === 'refused' ? grant : permitBy([grant], context);
}

async function onceOnly(
  question: Question,
  { card, yes, context }: Approved & { readonly yes: VerifiedYes },
): Promise<Permit | Refused<'already_used'>> {
  const { database, clock, spent } = context;
  // SECURITY: T-05, T-46 — also when the row was set back: what was used stays used, and what ended without a yes stays so
  // though a yes that came too late was put in place of the no.
  if (card.used_at !== null || (await spent.has(card.id))) return refused('already_used');
  const { scope, expiresAt } = scopeOfAll(yes.statements);
  const { principal, session } = question.subject;
  const approvalId = card.id as ApprovalId;
  // SECURITY: T-05 — compare and set in the transaction that records the intent: of two calls in a race one begins.
  const use = database.write
    .updateTable('approvals')
    .set({ used_by: question.key, used_at: clock.now() })
    .where('id', '=', card.id)
    .where('state', '=', 'approved')
    .where('used_at', 'is', null);
  return {
    kind: 'permitted',
    approvalIds: [approvalId],
    grantIds: [],
    scope,
    notAfter: Math.min(expiresAt, heldUntil(yes, question.needs)),
    approval: { approvers: yes.statements.length, assurance: yes.assurance },
    deciders: yes.statements.map(({ decider, device, assurance }) => ({ person: decider, device, assurance })),
    statements: yes.signed,
    steps: [statement(use, { rows: 1 })],
    events: [{ kind: 'used', approvalId, principal, session, key: question.key }],
    notifications: [{ channel: SPENT_CHANNEL, payload: card.id }],
  };
}
