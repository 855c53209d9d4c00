import type { Answer, Approvals, Asked, Permit, Question } from '@palyra/approvals';
import type { AttestedApproval } from '@palyra/journal';
import type { ActivePolicies } from '@palyra/policy';
import type { Clock } from '@palyra/primitives';
import type { Redactor } from '../redact/create-redactor.ts';
import { approvedBy, endedWithout } from './attested-approval.ts';
import { type RefusedCall, refusedBy } from './call-end.ts';
import { policyRequest } from './decide.ts';
import type { DecidedCall } from './decided-call.ts';
import { maskedQuestion } from './masked-question.ts';
import type { RuleOffer } from './question-of.ts';
import type { WaitingCalls } from './waiting-calls.ts';

export interface SeekDeps {
  readonly approvals: Approvals;
  readonly policy: Pick<ActivePolicies, 'decide' | 'current'>;
  readonly clock: Clock;
  readonly waiting: WaitingCalls;
  readonly redactor: Pick<Redactor, 'maskHeld'>;
  /** What is done when nobody answers at once: wait for it, or come back with the same key. */
  readonly unattended: 'wait' | 'park' | 'deny';
  /** Absent: nothing is offered for good. */
  readonly rules?: RuleOffer;
}

/** What somebody would be asked, and what comes before that. */
export interface Seeking {
  /** SECURITY: T-02 — a refusal: nobody is asked about what could not be done as it was approved. */
  question(call: DecidedCall): Promise<RefusedCall | { readonly kind: 'question'; readonly question: Question }>;
  /** Before anybody is asked, so that the question in the journal is about something that is there. */
  record(call: DecidedCall): Promise<void>;
  /** What whoever could not wait does when there is an answer. */
  readonly whenParked: string;
}

/** Policy allows it, with the word of a human where it asked for one. Nothing is used up yet. */
export type Sought = { readonly kind: 'cleared'; readonly call: DecidedCall } | RefusedCall;

/** A rule that is made while it waits changes the answer; more than a few would be made for something else. */
const MOST_DECISIONS = 5;

/** For a call before it runs, and for a connection while it is held. */
export async function seekApproval(decided: DecidedCall, seeking: Seeking, deps: SeekDeps): Promise<Sought> {
  let call = decided;
  for (let tries = 0; tries < MOST_DECISIONS; tries += 1) {
    if (call.decision.kind === 'allow') return { kind: 'cleared', call };

    const asking = await seeking.question(call);
    if (asking.kind === 'refused') return asking;
    const question = maskedQuestion(asking.question, deps.redactor.maskHeld);
    const standing = await deps.approvals.covering(question);
    if (standing.kind === 'permitted') return decideAgain(call, standing, deps);

    // SECURITY: T-47 — an answer for good is given, and becomes a rule right now: nobody is asked the same once more meanwhile.
    const comingRule = tries === 0 ? deps.rules?.underWay?.() : undefined;
    await comingRule;
    if (comingRule === undefined) {
      await seeking.record(call);
      const answered = await askHuman(call, question, { ...deps, whenParked: seeking.whenParked });
      if (answered.kind !== 'superseded') return answered;
    }
    const again = decideAnew(call, deps);
    if (again.kind === 'refused') return again;
    call = again.call;
  }
  return refusedBy('gateway.changed_meanwhile', 'The policies changed again and again while it was asked.');
}

interface Asking extends SeekDeps {
  readonly whenParked: string;
}

async function askHuman(
  call: DecidedCall,
  question: Question,
  { approvals, ...deps }: Asking,
): Promise<Sought | { readonly kind: 'superseded' }> {
  const { proposed, signal } = call;
  if (deps.unattended === 'deny') {
    return refusedBy('gateway.approval_denied', 'It would be a question, and nobody is there to answer.');
  }
  const asked = await approvals.ask(question);
  if (asked.kind === 'refused')
    return { kind: 'refused', code: `approvals.${asked.code}`, message: asked.reason, fix: undefined };

  // SECURITY: T-47 — the run was ended while it was being asked: nobody is left with a question of it.
  if (call.run.isRefused()) {
    await approvals.cancel(asked);
    return refusedTooOften();
  }
  const { approvalId, expiresAt } = asked;
  proposed.onEvent?.({ kind: 'approval_requested', approvalId, expiresAt });
  deps.waiting.set(approvalId, call);
  const answer = await approvals
    .wait(asked, { signal, ...(deps.unattended === 'park' ? { parkAfterMs: 0 } : {}) })
    .finally(() => deps.waiting.delete(approvalId));
  proposed.onEvent?.({ kind: 'approval_decided', approvalId, outcome: answer.kind });
  switch (answer.kind) {
    case 'approved': {
      const verified = await approvals.verifyForRun(question, approvalId);
      if (verified.kind === 'permitted') return decideAgain(call, verified, deps);
      return {
        kind: 'refused',
        code: `approvals.${verified.code}`,
        message: verified.reason,
        fix: 'Propose the call again.',
      };
    }
    case 'superseded':
      return { kind: 'superseded' };
    case 'denied':
    case 'expired':
    case 'cancelled':
      if (call.run.isRefused()) return refusedTooOften();
      return withoutYes(answer, await endedWithout(approvalId, answer, approvals));
    case 'parked':
      return whenParked(call, asked, { approvals, fix: deps.whenParked });
  }
}

function refusedTooOften(): RefusedCall {
  return refusedBy('gateway.too_many_refusals', 'So many calls of the run were refused that it was ended.');
}

const WITHOUT_YES = {
  denied: ['gateway.approval_denied', 'A human refused.'],
  expired: ['gateway.approval_expired', 'Nobody answered in time.'],
  cancelled: ['gateway.approval_cancelled', 'The question was taken back.'],
} as const;

function withoutYes(
  answer: Extract<Answer, { readonly kind: keyof typeof WITHOUT_YES }>,
  approval: AttestedApproval | undefined,
): RefusedCall {
  const [code, sentence] = WITHOUT_YES[answer.kind];
  const message = answer.kind === 'denied' && answer.reason !== null ? `${sentence} ${answer.reason}` : sentence;
  return { ...refusedBy(code, message), ...(approval === undefined ? {} : { approval }) };
}

/** Cancelled while it waited: the question goes too. Otherwise it stays, for whoever comes back with the same key. */
async function whenParked(
  call: DecidedCall,
  asked: Asked,
  { approvals, fix }: { readonly approvals: Approvals; readonly fix: string },
): Promise<RefusedCall> {
  if (!call.signal.aborted) {
    return refusedBy('gateway.approval_pending', 'A human was asked and has not answered yet.', fix);
  }
  await approvals.cancel(asked);
  return refusedBy('gateway.cancelled', 'The call was cancelled while a human was asked.');
}

/** SECURITY: T-50 — approval is an input to policy, never a way around it: the policies of now, with the answer. */
function decideAgain(call: DecidedCall, given: Permit, { policy, clock }: Pick<SeekDeps, 'policy' | 'clock'>): Sought {
  const decidedAt = clock.now();
  const under = policy.current();
  const request = policyRequest(call, decidedAt);
  const decision = policy.decide({ ...request, context: { ...request.context, approval: given.approval } });
  if (decision.kind === 'allow') {
    return { kind: 'cleared', call: { ...call, decision, under, decidedAt, permit: given } };
  }
  const approval = approvedBy(given);
  return {
    ...refusedBy(
      'gateway.changed_meanwhile',
      `It was approved, but the policies do not allow it: ${decision.reason}`,
      decision.fix,
    ),
    decision,
    under,
    ...(approval === undefined ? {} : { approval }),
  };
}

function decideAnew(call: DecidedCall, { policy, clock }: SeekDeps): Sought {
  const decidedAt = clock.now();
  const under = policy.current();
  const decision = policy.decide(policyRequest(call, decidedAt));
  if (decision.kind !== 'deny') return { kind: 'cleared', call: { ...call, decision, under, decidedAt } };
  return {
    kind: 'refused',
    code: `policy.${decision.reasonCode}`,
    message: decision.reason,
    fix: decision.fix,
    decision,
    under,
  };
}
