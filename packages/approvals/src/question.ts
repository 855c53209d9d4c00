import type { Sha256Hex } from '@palyra/primitives';
import { areGrantable, checkEffects, type Effect } from './approval-effect.ts';
import { ApprovalError } from './approval-error.ts';
import { type ApprovalSubject, subjectDigest } from './approval-subject.ts';
import type { PromptFacts } from './prompt/prompt-facts.ts';

/** How sure we are that a human decided, from weak to strong. */
export const ASSURANCES = ['same_host_key', 'separate_device', 'user_verified'] as const;
export type Assurance = (typeof ASSURANCES)[number];

/** How far an answer reaches. `always` writes a policy rule elsewhere, and is a yes for one use here. */
export type DecisionScope = 'once' | 'session' | 'timeboxed' | 'always';

/** What the policies that made it a question demand of the answer. */
export interface Needs {
  /** How many different people. */
  readonly approvers: number;
  readonly assurance: Assurance;
  /** How far a yes may reach at most. */
  readonly offer: 'once' | 'session' | 'always';
  /** How long a yes may hold at most. */
  readonly holdsMs?: number;
}

export const PLAIN_NEEDS: Needs = { approvers: 1, assurance: 'same_host_key', offer: 'once' };

/** What is asked, on whose behalf, and what the approver will be shown. All of it is the server's own knowledge. */
export interface Question {
  /** Of the call or connection that waits. The same key resumes the same question. */
  readonly key: string;
  readonly run: string;
  /** The credential that proposed; it can never decide. */
  readonly credential: string;
  readonly subject: ApprovalSubject;
  /**
   * All that leaves the box, each by itself: what is not named here, a grant for the rest would let pass. Whatever no
   * other kind says (limits instead of a box, the open network, a protected file) is a `once`.
   */
  readonly effects: readonly Effect[];
  readonly facts: PromptFacts;
  readonly needs: Needs;
  readonly policy: {
    readonly set: string;
    readonly ids: readonly string[];
    readonly reason: string;
    /** Whether the policy package can write a rule for these effects; else `always` is not offered. */
    readonly canWriteRule: boolean;
  };
}

/** How far a yes may reach, by the policies and by what they can be taught. */
export function offerOf({ needs: { offer }, policy: { canWriteRule } }: Pick<Question, 'needs' | 'policy'>): Offer {
  return offer === 'always' && !canWriteRule ? 'session' : offer;
}

type Offer = Needs['offer'];

/** The scopes that a yes may have. */
export function offeredScopes({ offer, effects, leftOut }: Offering): readonly DecisionScope[] {
  // SECURITY: T-03 — what has no effect that can be named and shown is approved one use at a time.
  if (offer === 'once' || !areGrantable(effects)) return ['once'];
  // SECURITY: T-08 — nobody widens what nobody could read.
  if (leftOut > 0) return ['once'];
  if (offer === 'session') return ['once', 'session', 'timeboxed'];
  return ['once', 'session', 'timeboxed', 'always'];
}

interface Offering {
  readonly offer: Offer;
  readonly effects: readonly Effect[];
  /** Bytes that the prompt has no room for. */
  readonly leftOut: number;
}

/** What an index of PostgreSQL holds twice; no name of ours comes near it. */
const MOST_NAME_BYTES = 1_024;

/** Throws `approvals.invalid_question`, `approvals.invalid_effect`. */
export function checkQuestion(question: Question): Sha256Hex {
  const { key, run, credential, effects, needs } = question;
  if ([key, run, credential].some((text) => text === ''))
    throw invalid('It names its key, its run and who proposed it.');
  const { principal, session, workspace } = question.subject;
  const names = [key, run, credential, principal, session, workspace];
  if (names.some((name) => Buffer.byteLength(name) > MOST_NAME_BYTES))
    throw invalid(`No name in it has more than ${MOST_NAME_BYTES} bytes.`);
  if (!Number.isInteger(needs.approvers) || needs.approvers < 1 || needs.approvers > 9) {
    throw invalid('It is for one to nine people to answer.');
  }
  if (needs.holdsMs !== undefined && !(Number.isSafeInteger(needs.holdsMs) && needs.holdsMs > 0))
    throw invalid('An answer holds for some time, in whole milliseconds, or not at all.');
  checkEffects(effects);
  return subjectDigest(question.subject);
}

/** What was demanded when it was asked and what is demanded now, whichever is more. */
export function strictest(then: VoterNeeds, now: VoterNeeds): VoterNeeds {
  const assurance = isBelow(then.assurance, now.assurance) ? now.assurance : then.assurance;
  return { approvers: Math.max(then.approvers, now.approvers), assurance };
}

type VoterNeeds = Pick<Needs, 'approvers' | 'assurance'>;

export function isBelow(found: Assurance, wanted: Assurance): boolean {
  return ASSURANCES.indexOf(found) < ASSURANCES.indexOf(wanted);
}

function invalid(sentence: string): ApprovalError {
  return new ApprovalError('approvals.invalid_question', `The question is not complete. ${sentence}`);
}
