import type { Answer, Approvals, Asked, Permit, Question } from '@palyra/approvals';
import type { AttestedApproval } from '@palyra/journal';
import type { ActivePolicies } from '@palyra/policy';
import type { Clock } from '@palyra/primitives';
import type { Redactor } from '../redact/create-redactor.ts';
import { approvedBy, endedWithout } from './attested-approval.ts';
import { decidedEvent, type RefusedCall, refusedBy } from './call-end.ts';
import type { CallLedger } from './call-ledger.ts';
import { policyRequest } from './decide.ts';
import type { DecidedCall } from './decided-call.ts';
import { maskedQuestion } from './masked-question.ts';
import { type PermittedCall, permit } from './permitted-call.ts';
import { questionOf, type RuleOffer } from './question-of.ts';
import type { ToolCallSteps } from './run-tool-call.ts';
import type { WaitingCalls } from './waiting-calls.ts';

export interface ApproveDeps {
  readonly approvals: Approvals;
  readonly policy: Pick<ActivePolicies, 'decide' | 'current'>;
  readonly clock: Clock;
  readonly waiting: WaitingCalls;
  readonly redactor: Pick<Redactor, 'maskHeld'>;
  /** Absent: nothing is offered for good. */
  readonly rules?: RuleOffer;
  /** What is done when nobody answers at once: wait for it, or come back with the same key. */
  readonly unattended: 'wait' | 'park' | 'deny';
}

type Passed = Awaited<ReturnType<ToolCallSteps['approve']>>;

/** A rule that is made while it waits changes the answer; more than a few would be made for something else. */
const MOST_DECISIONS = 5;

/** The only maker of permitted calls. */
export function createApprove(deps: ApproveDeps): ToolCallSteps['approve'] {
  return async (decided, ledger) => {
    let call = decided;
    for (let tries = 0; tries < MOST_DECISIONS; tries += 1) {
      if (call.decision.kind === 'allow') return passed(permit(call));

      const bound = await call.plan.bind();
      // SECURITY: T-02 — nobody is asked about what could not be run as it was approved.
      if (bound.kind === 'refused') return bound;
      const question = maskedQuestion(questionOf(call, bound, deps.rules), deps.redactor.maskHeld);
      const standing = await deps.approvals.covering(question);
      if (standing.kind === 'permitted') return decideAgain(call, standing, deps);

      const answered = await askHuman(call, question, { ...deps, ledger });
      if (answered.kind !== 'superseded') return answered;
      const again = decideAnew(call, deps);
      if (again.kind === 'refused') return again;
      call = again.call;
    }
    return refusedBy('gateway.changed_meanwhile', 'The policies changed again and again while it was asked.');
  };
}

interface Asking extends ApproveDeps {
  readonly ledger: CallLedger;
}

async function askHuman(
  call: DecidedCall,
  question: Question,
  { approvals, ledger, ...deps }: Asking,
): Promise<Passed | { readonly kind: 'superseded' }> {
  const { proposed, decision, under, signal } = call;
  // On record before anybody is asked, so that the question in the journal is about a call that is there.
  ledger.follow(call);
  await ledger.decided(decision, under);
  proposed.onEvent?.(decidedEvent(decision));
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
      if (verified.kind === 'permitted') return decideAgain(call, verified, { approvals, ...deps });
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
      return whenParked(call, asked, approvals);
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
async function whenParked(call: DecidedCall, asked: Asked, approvals: Approvals): Promise<RefusedCall> {
  if (!call.signal.aborted) {
    return refusedBy(
      'gateway.approval_pending',
      'A human was asked and has not answered yet.',
      'Propose the same call with the same key again; it runs once, when it is approved.',
    );
  }
  await approvals.cancel(asked);
  return refusedBy('gateway.cancelled', 'The call was cancelled while a human was asked.');
}

/** SECURITY: T-50 — approval is an input to policy, never a way around it: the policies of now, with the answer. */
function decideAgain(call: DecidedCall, given: Permit, { policy, clock }: ApproveDeps): Passed {
  const decidedAt = clock.now();
  const under = policy.current();
  const request = policyRequest(call, decidedAt);
  const decision = policy.decide({ ...request, context: { ...request.context, approval: given.approval } });
  if (decision.kind === 'allow') return passed(permit({ ...call, decision, under, decidedAt, permit: given }));
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

function decideAnew(
  call: DecidedCall,
  { policy, clock }: ApproveDeps,
): RefusedCall | { readonly kind: 'passed'; readonly call: DecidedCall } {
  const decidedAt = clock.now();
  const under = policy.current();
  const decision = policy.decide(policyRequest(call, decidedAt));
  if (decision.kind !== 'deny') return { kind: 'passed', call: { ...call, decision, under, decidedAt } };
  return {
    kind: 'refused',
    code: `policy.${decision.reasonCode}`,
    message: decision.reason,
    fix: decision.fix,
    decision,
    under,
  };
}

function passed(call: PermittedCall): Passed {
  return { kind: 'passed', call };
}
