import { type ApprovalId, canonicalJson, type Sha256Hex } from '@palyra/primitives';
import { program, statement } from '@palyra/storage';
import { ApprovalError, type Refused, refused } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import { shownReason } from './deny-reason.ts';
import { expireDue } from './expire-due.ts';
import { describeQuestion, makePrompt, promptText, questionDigest } from './prompt/prompt-record.ts';
import { checkQuestion, type Question } from './question.ts';
import { leaveUnlessServed } from './serve-key.ts';
import { type ApprovalRow, ASKED_CHANNEL, type AskerRow } from './store/approvals-schema.ts';
import { ASK_PROGRAM, type AskInput } from './store/ask-program.ts';

/** A question that is before humans, or was: waiting for it tells which. */
export interface Asked {
  readonly kind: 'asked';
  readonly approvalId: ApprovalId;
  readonly principal: string;
  readonly key: string;
  readonly expiresAt: number;
  /** `joined`: somebody had asked the same already; `resumed`: this key had. */
  readonly how: 'new' | 'joined' | 'resumed';
}

export type AskRefusal = 'cooling_down' | 'too_many_pending' | 'too_many_questions' | 'denied_before';
export type AskOutcome = Asked | Refused<AskRefusal>;

/** Each try sees what made the last one fail, so more than a few mean that cards come and go all the time. */
const TRIES = 20;

/**
 * Puts the question, unless the same one is open. Throws `approvals.invalid_question`, `approvals.invalid_effect`,
 * `approvals.key_reused`, and what storage throws; then nobody was asked, and the call is refused.
 */
export async function ask(question: Question, context: ApprovalContext): Promise<AskOutcome> {
  const subject = checkQuestion(question);
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const opened = await openCard(question, subject, context);
    if (opened !== undefined) return opened;
    const found = await whyNotOpened(question, subject, context);
    if (found !== undefined) return found;
  }
  throw new ApprovalError('approvals.contended', 'The question could not be put.', { fix: 'Try again in a moment.' });
}

/** Undefined when the writer found a reason not to. */
async function openCard(question: Question, subject: Sha256Hex, context: ApprovalContext): Promise<Asked | undefined> {
  const { clock, ids, limits, commit } = context;
  const { principal, session, workspace } = question.subject;
  const askedAt = clock.now();
  const expiresAt = askedAt + limits.questionMs;
  const approvalId = ids.newId('approval');
  const prompt = makePrompt({ approvalId, subject, question, limits, askedAt, expiresAt });
  const card: ApprovalRow = {
    id: approvalId,
    subject,
    asks: questionDigest(prompt),
    state: 'pending',
    principal,
    session,
    workspace,
    credential: question.credential,
    policy_set: question.policy.set,
    prompt: promptText(prompt),
    effects: canonicalJson(question.effects),
    needs: canonicalJson({ ...question.needs }),
    votes: 0,
    scope: null,
    reason: null,
    via_grant: null,
    asked_at: askedAt,
    expires_at: expiresAt,
    ended_at: null,
    used_by: null,
    used_at: null,
  };
  const input: AskInput = { card, asker: askerOf(question, approvalId, askedAt), limits };
  const { run, key } = question;
  const outcome = await commit(
    { steps: [program(ASK_PROGRAM, input)], notifications: [{ channel: ASKED_CHANNEL, payload: approvalId }] },
    [{ kind: 'requested', approvalId, principal, session, run, key, subject, prompt: card.prompt, expiresAt }],
  );
  if (outcome.kind === 'conflict') return undefined;
  return { kind: 'asked', approvalId, principal, key, expiresAt, how: 'new' };
}

function askerOf({ subject, key, credential, run }: Question, approvalId: string, askedAt: number): AskerRow {
  return { principal: subject.principal, key, approval_id: approvalId, credential, run, asked_at: askedAt };
}

/** In the order of the writer's program; undefined when the reason is gone again. */
async function whyNotOpened(
  question: Question,
  subject: Sha256Hex,
  context: ApprovalContext,
): Promise<AskOutcome | undefined> {
  return (
    (await resume(question, subject, context)) ??
    (await joinOrRefuse(question, subject, context)) ??
    (await overBudget(question, context))
  );
}

async function resume(question: Question, subject: Sha256Hex, context: ApprovalContext): Promise<Asked | undefined> {
  const { principal } = question.subject;
  const found = await context.database.read
    .selectFrom('approval_askers')
    .innerJoin('approvals', 'approvals.id', 'approval_askers.approval_id')
    .selectAll('approvals')
    .where('approval_askers.principal', '=', principal)
    .where('approval_askers.key', '=', question.key)
    .executeTakeFirst();
  if (found === undefined) return undefined;
  // SECURITY: T-11 — a key resumes its own question only; with other arguments it would fetch another one's answer.
  if (found.subject !== subject) {
    throw new ApprovalError('approvals.key_reused', 'This key belongs to a call with other arguments.', {
      fix: 'Give each call a key of its own.',
    });
  }
  return (await leaveUnlessServed(found, question, context)) ? undefined : askedAs(found, question, 'resumed');
}

function askedAs(
  row: Pick<ApprovalRow, 'id' | 'expires_at'>,
  { subject: { principal }, key }: Question,
  how: Asked['how'],
): Asked {
  return { kind: 'asked', approvalId: row.id as ApprovalId, principal, key, expiresAt: row.expires_at, how };
}

async function joinOrRefuse(
  question: Question,
  subject: Sha256Hex,
  context: ApprovalContext,
): Promise<AskOutcome | undefined> {
  const { database, clock, limits } = context;
  const asks = questionDigest(describeQuestion({ question, subject, limits }));
  const cards = database.read.selectFrom('approvals').select(['id', 'expires_at', 'reason']);
  const open = await cards.where('asks', '=', asks).where('state', '=', 'pending').executeTakeFirst();
  if (open !== undefined && open.expires_at > clock.now()) return join(open, question, context);
  if (open !== undefined) {
    // Its time is over and nobody was there to say so; then there is room for a new card.
    await expireDue(context);
    return undefined;
  }
  const denied = await cards
    .where('subject', '=', subject)
    .where('state', '=', 'denied')
    .where('ended_at', '>', clock.now() - limits.denialHoldsMs)
    .orderBy('ended_at', 'desc')
    .executeTakeFirst();
  return denied === undefined ? undefined : refused('denied_before', shownReason(denied.reason) ?? undefined);
}

/** SECURITY: T-47 — the same question in other words of the agent's is the same card; nobody is asked twice. */
async function join(
  card: Pick<ApprovalRow, 'id' | 'expires_at'>,
  question: Question,
  { database, clock }: ApprovalContext,
): Promise<Asked | undefined> {
  const now = clock.now();
  const stillOpen = database.write
    .updateTable('approvals')
    .set({ state: 'pending' })
    .where('id', '=', card.id)
    .where('state', '=', 'pending')
    .where('expires_at', '>', now);
  const asker = database.write
    .insertInto('approval_askers')
    .values(askerOf(question, card.id, now))
    .onConflict((conflict) => conflict.doNothing());
  const outcome = await database.commit({
    steps: [statement(stillOpen, { rows: 1 }), statement(asker, { rows: 1 })],
    // Whoever shows the card may show how many wait for it.
    notifications: [{ channel: ASKED_CHANNEL, payload: card.id }],
  });
  return outcome.kind === 'conflict' ? undefined : askedAs(card, question, 'joined');
}

/** SECURITY: T-47 — an agent that is refused again and again, or asks all the time, stops being put through. */
async function overBudget(
  { subject: { principal } }: Question,
  { database, clock, limits }: ApprovalContext,
): Promise<Refused<AskRefusal> | undefined> {
  const now = clock.now();
  const cooling = await database.read
    .selectFrom('approval_principals')
    .select('cooling_until')
    .where('principal', '=', principal)
    .where('cooling_until', '>', now)
    .executeTakeFirst();
  if (cooling !== undefined)
    return refused('cooling_down', `It may ask again in ${inSeconds(cooling.cooling_until - now)}.`);
  const mine = database.read.selectFrom('approvals').select('id').where('principal', '=', principal);
  const open = await mine
    .where('state', '=', 'pending')
    .where('expires_at', '>', now)
    .limit(limits.pendingPerPrincipal)
    .execute();
  if (open.length >= limits.pendingPerPrincipal) return refused('too_many_pending');
  const since = now - limits.questionWindowMs;
  const recent = await mine.where('asked_at', '>', since).limit(limits.questionsPerWindow).execute();
  return recent.length >= limits.questionsPerWindow ? refused('too_many_questions') : undefined;
}

function inSeconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`;
}
