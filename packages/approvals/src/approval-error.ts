import { AppError } from '@palyra/primitives';

/** Codes are API: add one, never rename one. */
export const APPROVAL_ERRORS = {
  'approvals.invalid_question': 'A question lacks what an approval must bind or show.',
  'approvals.invalid_effect': 'An effect is not written in its one canonical spelling.',
  'approvals.invalid_answer': 'An answer has a time or a reason that cannot be taken.',
  'approvals.key_reused': 'A key that belongs to one question was given with another.',
  'approvals.contended': 'Others changed the same question again and again while it was being asked.',
  'approvals.not_found': 'There is no approval or grant with this id.',
  'approvals.ambiguous_id': 'Several approvals or grants have an id that ends so.',
  'approvals.corrupt': 'A stored approval cannot be read.',
  'approvals.closed': 'Approvals are closed; nobody is woken any more.',
} as const;

export type ApprovalErrorCode = keyof typeof APPROVAL_ERRORS;

export class ApprovalError extends AppError<ApprovalErrorCode> {}

/** Why a question is not put, an answer not taken, or an approval not honoured. Stable words for programs. */
export const APPROVAL_REFUSALS = {
  cooling_down: 'This agent was denied several times in a row, so nobody is asked for a while.',
  too_many_pending: 'Too many questions of this principal are open.',
  too_many_questions: 'This principal has asked too many questions of late.',
  too_many_waiting: 'Too many calls wait for the same answer.',
  denied_before: 'The very same question was denied a short while ago.',

  agent_cannot_decide: 'An agent credential cannot decide.',
  own_proposal: 'The credential that proposed cannot decide.',
  same_person: 'This person has answered already, and another one is needed.',
  assurance_too_low: 'The policy wants a stronger proof of who decides.',
  not_offered: 'The question does not offer this answer.',
  bad_statement: 'The statement is not one about this question as it was shown.',
  bad_signature: 'The signature is not one of the credential that the statement names.',

  not_approved: 'There is no approval of this.',
  other_subject: 'What was approved is not what would run.',
  other_prompt: 'What the approver was shown is not what would run.',
  too_few_people: 'The policy wants more people to approve.',
  approval_expired: 'The approval does not hold any more.',
  already_used: 'The approval was for one use, which it had, or its question ended without it.',
  revoked: 'The grant was revoked.',
  stricter_policy: 'The policy no longer offers what was granted.',
} as const;

export type ApprovalRefusal = keyof typeof APPROVAL_REFUSALS;

/** An expected no, with words for people and for the agent. */
export interface Refused<Code extends ApprovalRefusal = ApprovalRefusal> {
  readonly kind: 'refused';
  readonly code: Code;
  readonly reason: string;
}

export function refused<Code extends ApprovalRefusal>(code: Code, detail?: string): Refused<Code> {
  const sentence = APPROVAL_REFUSALS[code];
  return { kind: 'refused', code, reason: detail === undefined ? sentence : `${sentence} ${detail}` };
}
