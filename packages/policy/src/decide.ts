import { type ApprovalState, toCedarRequest } from './cedar-request.ts';
import type { Decision, ReasonCode } from './decision.ts';
import { REASON_CODES } from './decision.ts';
import type { EvaluationRequest, EvaluationResult } from './evaluator.ts';
import { ASSURANCES, combineObligations, EGRESS_MODES, type Obligations, TIERS } from './obligations.ts';
import { PolicyError } from './policy-error.ts';
import type { PolicyRecord } from './policy-set.ts';
import type { PolicyEvaluationConfig, PolicyRequest } from './request.ts';

export interface PolicyEngine {
  /** Never throws and never answers `allow` for a fault: what cannot be decided is denied with its own code. */
  decide(request: PolicyRequest): Decision;
}

export interface PolicyEngineDeps {
  readonly policies: readonly PolicyRecord[];
  readonly config: PolicyEvaluationConfig;
  evaluate(request: EvaluationRequest): EvaluationResult;
}

const UNAPPROVED: ApprovalState = { approved: false, assurance: 'none' };
/** The best that could be: a human is asked whenever some approval would do. */
const IF_APPROVED: ApprovalState = { approved: true, assurance: 'user_verified' };

/** Cedar only allows or denies, so `ask` means: denied now, allowed had a human approved. */
export function createPolicyEngine({ policies, config, evaluate }: PolicyEngineDeps): PolicyEngine {
  const records = new Map(policies.map((policy) => [policy.id, policy]));
  const evaluateAs = (request: PolicyRequest, approval: ApprovalState) =>
    soundAnswer(evaluate(toCedarRequest(request, config, approval)));

  const answer = (request: PolicyRequest): Decision => {
    const { approval } = request.context;
    const today = evaluateAs(request, UNAPPROVED);
    const todays = obligationsOf(records, today.policyIds);
    if (today.isAllowed && !wantsApproval(todays)) {
      return checkAllowed(request, { ...describe('allowed', today.policyIds, records), obligations: todays });
    }

    const given = approval === undefined ? IF_APPROVED : { approved: true, assurance: approval.assurance };
    const approved = evaluateAs(request, given);
    if (!approved.isAllowed)
      return denied(approved.policyIds.length > 0 ? approved.policyIds : today.policyIds, records);

    // SECURITY: T-50 — the policy that caused the ask is only in today's answer, also once the approval is there: both
    // count, or its obligations are lost.
    const policyIds = [...new Set([...today.policyIds, ...approved.policyIds])].toSorted();
    return checkAllowed(request, {
      ...describe(approval === undefined ? 'approval_required' : 'allowed', policyIds, records),
      obligations: obligationsOf(records, policyIds),
    });
  };

  return {
    decide(request) {
      try {
        return answer(request);
      } catch (error) {
        // SECURITY: T-09 — every fault on the decision path is a refusal.
        return refused(error);
      }
    },
  };
}

/** A policy that names approvers wants them, also when its condition forgot to ask for an approval. */
function wantsApproval({ approvers, assurance }: Obligations): boolean {
  return approvers !== undefined || assurance !== undefined;
}

interface SoundAnswer {
  readonly isAllowed: boolean;
  readonly policyIds: readonly string[];
}

/** A policy that fails is skipped by Cedar; were it a forbid, skipping would allow. So any error is no answer. */
function soundAnswer(result: EvaluationResult): SoundAnswer {
  if (result.kind === 'failed') throw new PolicyError('policy.evaluation_failed', result.message);
  const [first] = result.errors;
  if (first !== undefined) {
    throw new PolicyError('policy.evaluation_failed', `The policy ${first.policyId} failed: ${first.message}`);
  }
  return { isAllowed: result.decision === 'allow', policyIds: result.reasons };
}

function obligationsOf(records: ReadonlyMap<string, PolicyRecord>, policyIds: readonly string[]): Obligations {
  return combineObligations(policyIds.map((id) => records.get(id)?.obligations ?? {}));
}

type Described = Pick<Decision, 'kind' | 'policyIds' | 'reasonCode' | 'reason' | 'fix'>;

const KINDS: Readonly<Record<ReasonCode, Decision['kind']>> = {
  allowed: 'allow',
  approval_required: 'ask',
  forbidden: 'deny',
  no_permit: 'deny',
  approval_insufficient: 'deny',
  obligation_unmet: 'deny',
  invalid_request: 'deny',
  evaluation_failed: 'deny',
};

function describe(
  code: ReasonCode,
  policyIds: readonly string[],
  records: ReadonlyMap<string, PolicyRecord>,
): Described {
  const kind = KINDS[code];
  const speakers = policyIds.map((id) => records.get(id)).filter((record) => record?.reason !== undefined);
  const reason = speakers.map((record) => record?.reason).join(' ') || REASON_CODES[code];
  if (kind === 'allow') return { kind, policyIds, reasonCode: code, reason };
  const fix =
    speakers.flatMap((record) => record?.fix ?? []).join(' ') ||
    'palyra policy explain shows what would change the answer.';
  return { kind, policyIds, reasonCode: code, reason, fix };
}

function denied(policyIds: readonly string[], records: ReadonlyMap<string, PolicyRecord>): Decision {
  const code = policyIds.length > 0 ? 'forbidden' : 'no_permit';
  return { ...describe(code, policyIds, records), obligations: obligationsOf(records, policyIds) };
}

/** A human is asked, and a call let through, only when the plan and the approval are as strong as the policies demand. */
function checkAllowed(request: PolicyRequest, decision: Decision): Decision {
  const { facts, approval } = request.context;
  const { tier, egress, approvers = 1, assurance } = decision.obligations;
  const weak =
    facts.kind === 'call' &&
    (isBelow(TIERS, facts.enforced.tier, tier) || isBelow(EGRESS_MODES, facts.enforced.egress, egress));
  if (weak)
    return refuse(
      decision,
      'obligation_unmet',
      'Plan the call in the tier and behind the egress that the policy names.',
    );

  const unsure =
    approval !== undefined && (approval.approvers < approvers || isBelow(ASSURANCES, approval.assurance, assurance));
  if (unsure)
    return refuse(
      decision,
      'approval_insufficient',
      'Ask again: the policy wants more people, or a stronger proof of who they are.',
    );
  return decision;
}

function isBelow(order: readonly string[], found: string, wanted: string | undefined): boolean {
  return wanted !== undefined && order.indexOf(found) < order.indexOf(wanted);
}

function refuse(decision: Decision, reasonCode: ReasonCode, fix: string): Decision {
  return { ...decision, kind: 'deny', reasonCode, reason: REASON_CODES[reasonCode], fix };
}

function refused(error: unknown): Decision {
  const reasonCode =
    error instanceof PolicyError && error.code === 'policy.invalid_request' ? 'invalid_request' : 'evaluation_failed';
  const reason = error instanceof PolicyError ? error.message : REASON_CODES[reasonCode];
  const fix = error instanceof PolicyError ? error.fix : undefined;
  return {
    kind: 'deny',
    policyIds: [],
    reasonCode,
    reason,
    fix: fix ?? 'This is a fault, not a decision: look at the log of palyrad.',
    obligations: {},
  };
}
