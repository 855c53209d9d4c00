import { canonicalJson, type Sha256Hex, secureRandomBytes } from '@palyra/primitives';
import { program } from '@palyra/storage';
import { areGrantable } from './approval-effect.ts';
import { ApprovalError, type Refused, refused } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import { coolingDown, overBudget } from './ask-budget.ts';
import { type Asked, askedAs, askerOf } from './asked.ts';
import { expireDue } from './expire-due.ts';
import { join } from './join-card.ts';
import {
  type ApprovalPromptRecord,
  describeQuestion,
  makePrompt,
  promptText,
  questionDigest,
} from './prompt/prompt-record.ts';
import { checkQuestion, type Question } from './question.ts';
import { readNoes } from './read-answers.ts';
import { leaveUnlessServed } from './serve-key.ts';
import { type ApprovalRow, ASKED_CHANNEL } from './store/approvals-schema.ts';
import { ASK_PROGRAM, type AskInput } from './store/ask-program.ts';

export type AskRefusal =
  | 'cooling_down'
  | 'too_many_pending'
  | 'too_many_questions'
  | 'too_many_waiting'
  | 'denied_before';
export type AskOutcome = Asked | Refused<AskRefusal>;

/** Each try sees what made the last one fail, so more than a few mean that cards come and go all the time. */
const TRIES = 20;
const SALT_BYTES = 32;

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
  const salt = Buffer.from(secureRandomBytes(SALT_BYTES)).toString('hex');
  const prompt = makePrompt({ approvalId, subject, question, limits, askedAt, expiresAt, salt });
  const card: ApprovalRow = {
    id: approvalId,
    subject,
    // Without the salt: equal questions are one card.
    asks: questionDigest({ ...prompt, what: { ...prompt.what, subject } }),
    state: 'pending',
    principal,
    session,
    workspace,
    credential: question.credential,
    policy_set: question.policy.set,
    prompt: promptText(prompt),
    // Only to find what an answer might cover as well; what can be granted has been shown whole.
    effects: canonicalJson(isWidenable(prompt, question) ? question.effects : []),
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
    [{ kind: 'requested', approvalId, principal, session, run, key, ...recordedOf(prompt), expiresAt }],
  );
  if (outcome.kind === 'conflict') return undefined;
  return { kind: 'asked', approvalId, principal, key, expiresAt, how: 'new' };
}

/** SECURITY: T-54 — the subject as it is shown, with its salt: a plain digest in the record could be guessed. */
function recordedOf(prompt: ApprovalPromptRecord): { readonly subject: Sha256Hex; readonly prompt: string } {
  return { subject: prompt.what.subject, prompt: promptText(prompt) };
}

function isWidenable({ what }: ApprovalPromptRecord, { effects }: Question): boolean {
  return what.left_out === 0 && areGrantable(effects);
}

/** In the order of the writer's program; undefined when the reason is gone again. */
async function whyNotOpened(
  question: Question,
  subject: Sha256Hex,
  context: ApprovalContext,
): Promise<AskOutcome | undefined> {
  return (
    (await resume(question, subject, context)) ??
    (await coolingDown(question, context)) ??
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

async function joinOrRefuse(
  question: Question,
  subject: Sha256Hex,
  context: ApprovalContext,
): Promise<AskOutcome | undefined> {
  const { database, clock, limits } = context;
  const asks = questionDigest(describeQuestion({ question, subject, limits }));
  const cards = database.read.selectFrom('approvals').select(['id', 'expires_at']);
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
  if (denied === undefined) return undefined;
  const no = (await readNoes([denied.id], context)).get(denied.id);
  return refused('denied_before', no?.reason ?? undefined);
}
