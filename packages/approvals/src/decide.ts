import type { ApprovalId, GrantId, Sha256Hex } from '@palyra/primitives';
import { StorageError } from '@palyra/storage';
import type { Effect } from './approval-effect.ts';
import { ApprovalError, type ApprovalRefusal, type Refused, refused } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import { checkStatement, isAsShown, longestHold } from './check-statement.ts';
import type { Decider, DeciderIdentity } from './credential.ts';
import {
  type DecisionStatement,
  parseStatement,
  type SignedStatement,
  STATEMENT_FORMATS,
  signedBytes,
  statementText,
} from './decision-statement.ts';
import { decisionUnit, voteRow } from './decision-unit.ts';
import { MOST_REASON } from './deny-reason.ts';
import { reachShown } from './prompt/prompt-options.ts';
import { promptDigest } from './prompt/prompt-record.ts';
import { type DecisionScope, isBelow } from './question.ts';
import { needsOf, promptOf, readCard, readVotes } from './read-card.ts';
import { releasedCards } from './released-cards.ts';
import type { ApprovalRow, ApprovalState, VoteRow } from './store/approvals-schema.ts';
import { countVote } from './verify-votes.ts';

/** A rule for the policy package to write, as it was shown and signed. */
export interface AlwaysHere {
  readonly workspace: string;
  readonly effects: readonly Effect[];
}

/** What a human says, and to what. */
export type HumanAnswer = {
  /** `promptDigest` of the prompt that was on the screen, from whoever showed it: `PendingToolApproval.shown`. */
  readonly shown: Sha256Hex;
} & (
  | { readonly decision: 'approve'; readonly scope: DecisionScope; readonly ttlMs?: number }
  /** The reason reaches the agent. */
  | { readonly decision: 'deny'; readonly reason?: string }
);

export type DecideOutcome =
  | {
      readonly kind: 'decided';
      readonly state: 'approved' | 'denied';
      readonly scope: DecisionScope;
      readonly grantId?: GrantId;
      /** The rule that the policy package is to write for the workspace; then `supersede`. */
      readonly alwaysHere?: AlwaysHere;
      /** Other cards that the new grant answered. */
      readonly released: readonly ApprovalId[];
    }
  /** Said and signed, and more people are needed. */
  | { readonly kind: 'counted'; readonly approvers: number; readonly needed: number }
  /** Somebody else was first, or its time was over; `changed`: the card is not what was shown, so look again. */
  | { readonly kind: 'conflict'; readonly state: Exclude<ApprovalState, 'pending'> | 'changed' }
  | Refused<DecideRefusal>;

export type DecideRefusal = Extract<
  ApprovalRefusal,
  | 'agent_cannot_decide'
  | 'own_proposal'
  | 'same_person'
  | 'assurance_too_low'
  | 'not_offered'
  | 'bad_statement'
  | 'bad_signature'
>;

/** The statement to sign, which a device may do far away. Throws `approvals.not_found`, `approvals.invalid_answer`. */
export async function draftDecision(
  id: ApprovalId,
  answer: HumanAnswer & { readonly by: DeciderIdentity },
  context: ApprovalContext,
): Promise<string> {
  checkAnswer(answer);
  const card = await readCard(id, context);
  const now = context.clock.now();
  const { person, credential, device, assurance } = answer.by;
  const scope = answer.decision === 'approve' ? answer.scope : 'once';
  // What is not offered is drafted as good for nothing, and refused when it is recorded.
  const shown = promptOf(card);
  const reach = reachShown(shown, scope) ?? { pattern: null, holdsMs: 0 };
  const statement: DecisionStatement = {
    format: STATEMENT_FORMATS[shown.format],
    origin: context.origin,
    approval_id: id,
    subject: shown.what.subject,
    decision: answer.decision,
    scope,
    pattern: answer.decision === 'approve' ? reach.pattern : null,
    expires_at: now + holdsFor(answer, Math.min(reach.holdsMs, longestHold(scope, context.limits))),
    // SECURITY: T-46 — of what the human saw, not of what the row says by now; if they differ nobody takes the statement.
    prompt: answer.shown,
    decider: person,
    credential,
    device,
    assurance,
    decided_at: now,
    reason: answer.decision === 'deny' ? (answer.reason ?? null) : null,
  };
  return statementText(statement);
}

function checkAnswer(answer: HumanAnswer): void {
  if (!/^[0-9a-f]{64}$/.test(answer.shown)) throw invalidAnswer('shown is the digest of the prompt as it was shown.');
  if (answer.decision === 'approve') {
    const { ttlMs } = answer;
    if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs > 0)) {
      throw invalidAnswer('ttlMs is a number of milliseconds above 0.');
    }
  } else if ((answer.reason?.length ?? 0) > MOST_REASON || answer.reason?.isWellFormed() === false) {
    throw invalidAnswer(`A reason is a text of at most ${MOST_REASON} characters.`);
  }
}

function invalidAnswer(fix: string): ApprovalError {
  return new ApprovalError('approvals.invalid_answer', 'The answer cannot be taken as it is.', { fix });
}

function holdsFor(answer: HumanAnswer, longest: number): number {
  if (answer.decision === 'deny') return 0;
  return answer.scope === 'timeboxed' ? Math.min(answer.ttlMs ?? longest, longest) : longest;
}

/** Drafts, signs and records. Throws as `draftDecision` and what signing or storage throws: then nothing was decided. */
export async function decide(
  id: ApprovalId,
  answer: HumanAnswer & { readonly by: Decider },
  context: ApprovalContext,
): Promise<DecideOutcome> {
  const text = await draftDecision(id, answer, context);
  const signature = await answer.by.sign(signedBytes(text));
  return recordDecision({ text, signature }, context);
}

/** The racing voters of one card are as many as people are needed. */
const TRIES = 20;

/** Takes a signed statement from wherever it was signed, and trusts nothing about it. Throws as `decide` does. */
export async function recordDecision(signed: SignedStatement, context: ApprovalContext): Promise<DecideOutcome> {
  const said = parseStatement(signed.text);
  if (said === undefined) return refused('bad_statement');
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const card = await readCard(said.approval_id, context);
    const ended = endedState(card, context.clock.now()) ?? (await recordedEnd(card, context));
    if (ended !== undefined) return { kind: 'conflict', state: ended };
    // SECURITY: T-46 — a row that was changed while the human read it, and perhaps put back since.
    if (said.prompt !== promptDigest(card.prompt)) return { kind: 'conflict', state: 'changed' };
    const outcome = await tryToRecord({ card, said, signed }, context);
    if (outcome !== undefined) return outcome;
  }
  throw new ApprovalError('approvals.contended', 'The answer could not be recorded.', {
    fix: 'Try again in a moment.',
  });
}

/** SECURITY: T-05 — what has ended, by an answer or by the clock, ends no other way. */
function endedState(card: ApprovalRow, now: number): Exclude<ApprovalState, 'pending'> | undefined {
  if (card.state !== 'pending') return card.state;
  // SECURITY: T-46 — by the time that was shown and is signed, too: a row can be given another one.
  return Math.min(card.expires_at, promptOf(card).expires_at) <= now ? 'expired' : undefined;
}

/** SECURITY: T-05 — also when the row was set back to open: what ended without a yes takes none any more. */
async function recordedEnd({ id }: ApprovalRow, { spent }: ApprovalContext): Promise<'denied' | undefined> {
  return (await spent.has(id)) ? 'denied' : undefined;
}

interface SaidOfCard {
  readonly card: ApprovalRow;
  readonly said: DecisionStatement;
  readonly signed: SignedStatement;
}

/** Undefined when the card changed meanwhile. */
async function tryToRecord(answer: SaidOfCard, context: ApprovalContext): Promise<DecideOutcome | undefined> {
  const { card, said } = answer;
  const wrong = checkStatement(card, said, context) ?? (await checkDecider(answer, context));
  if (wrong !== undefined) return wrong;
  if (said.decision === 'approve' && !(await context.wasAsked(card.id as ApprovalId, said.prompt)))
    // SECURITY: T-46 — a row that was changed, or written, before the human looked: all that a yes becomes stands in it.
    return { kind: 'conflict', state: 'changed' };
  const before = await votesThatCount(card, await readVotes([card.id], context), context);
  if (before === 'denied') return { kind: 'conflict', state: 'denied' };
  if (said.decision === 'approve' && before.some((vote) => isBy(said.decider, vote))) {
    // The vote may be newer than the card: then it was the last one, and the card has ended.
    return (await readCard(said.approval_id, context)).state === 'pending' ? refused('same_person') : undefined;
  }
  const released = isLast(answer, before) ? await releasedCards(card, [voteRow(answer), ...before], context) : [];
  const { unit, events, outcome } = decisionUnit({ ...answer, votes: before, released }, context);
  const committed = await commitUnlessTaken(() => context.commit(unit, events));
  if (committed === 'taken' || committed.kind === 'conflict') return undefined;
  if (said.decision === 'deny') context.spent.add(card.id);
  return outcome;
}

/** SECURITY: T-06 — whatever the row says: the same statement under two names is one person. */
function isBy(decider: string, { statement }: VoteRow): boolean {
  return parseStatement(statement)?.decider === decider;
}

async function checkDecider(
  { card, said, signed }: SaidOfCard,
  context: ApprovalContext,
): Promise<Refused<DecideRefusal> | undefined> {
  const { credential } = said;
  const signer = await context.verify({ credential, message: signedBytes(signed.text), signature: signed.signature });
  if (signer === undefined) return refused('bad_signature');
  // SECURITY: T-06 — who signed is what identity says of the credential, not what the statement says of itself.
  if (signer.kind !== 'human') return refused('agent_cannot_decide');
  if (signer.person !== said.decider || signer.device !== said.device || isBelow(signer.assurance, said.assurance)) {
    return refused('bad_signature', 'The credential is not the one that the statement describes.');
  }
  // SECURITY: T-06 — nobody answers a question that the same credential asked.
  if ((await proposersOf(card, context)).has(credential)) return refused('own_proposal');
  if (said.decision === 'approve' && isBelow(said.assurance, needsOf(card).assurance))
    return refused('assurance_too_low');
  return undefined;
}

async function proposersOf(card: ApprovalRow, { database }: ApprovalContext): Promise<ReadonlySet<string>> {
  const query = database.read.selectFrom('approval_askers').select('credential');
  const askers = await query.where('approval_id', '=', card.id).execute();
  return new Set([card.credential, ...askers.map(({ credential }) => credential)]);
}

/**
 * SECURITY: T-46 — a rule for always is handed out with the last yes, so those before are looked at now: a row that somebody
 * wrote is no person, and a no that was signed stays one though the card was set back to open.
 */
async function votesThatCount(
  card: ApprovalRow,
  rows: readonly VoteRow[],
  context: ApprovalContext,
): Promise<readonly VoteRow[] | 'denied'> {
  if (rows.length === 0) return [];
  const { id: approvalId, prompt } = card;
  const counting = new Map<string, VoteRow>();
  const { assurance } = needsOf(card);
  const proposers = await proposersOf(card, context);
  const now = context.clock.now();
  for (const row of rows) {
    const vote = await countVote(row, { approvalId }, context);
    if (vote?.said.decision === 'deny') return 'denied';
    if (vote === undefined || !isAsShown(vote.said, prompt)) continue;
    // SECURITY: T-06 — by the measure of running it: one of each person, known well enough today, still holding, and of
    // nobody who asked meanwhile.
    if (vote.said.expires_at <= now || isBelow(vote.assurance, assurance) || proposers.has(vote.said.credential))
      continue;
    counting.set(vote.said.decider, row);
  }
  return Array.from(counting.values());
}

/** With this answer the card is approved. */
function isLast({ card, said }: SaidOfCard, votes: readonly VoteRow[]): boolean {
  return said.decision === 'approve' && votes.length + 1 >= needsOf(card).approvers;
}

/** Two people of one name at once: the second finds the row taken, and is told so when it looks again. */
async function commitUnlessTaken<Outcome>(commit: () => Promise<Outcome>): Promise<Outcome | 'taken'> {
  try {
    return await commit();
  } catch (error) {
    if (error instanceof StorageError && error.code === 'storage.constraint_violated') return 'taken';
    throw error;
  }
}
