import type { Approvals, Redecision } from '@palyra/approvals';
import type { ActivePolicies } from '@palyra/policy';
import type { ApprovalId, Clock } from '@palyra/primitives';
import { policyRequest } from './decide.ts';
import type { DecidedCall } from './decided-call.ts';
import { needsOf } from './question-of.ts';

/** Calls of this process that wait for a human, by their question. */
export type WaitingCalls = Map<ApprovalId, DecidedCall>;

export interface RedecideDeps {
  readonly approvals: Pick<Approvals, 'redecide'>;
  readonly policy: Pick<ActivePolicies, 'decide' | 'current'>;
  readonly clock: Clock;
  readonly waiting: WaitingCalls;
}

/**
 * After a policy change: nobody goes on being asked what is allowed or denied by now, or with other demands than now.
 * The calls decide anew. Grants stand: each use of one is decided by the policies of its day before it is looked for.
 * SECURITY: T-11 — a question nobody waits for here is ended; whoever comes back asks with what holds then.
 */
export async function redecideWaiting({ approvals, policy, clock, waiting }: RedecideDeps): Promise<void> {
  const decideCard = ({ approvalId }: { readonly approvalId: ApprovalId }): Redecision => {
    const call = waiting.get(approvalId);
    if (call === undefined) return { kind: 'deny' };
    const decision = policy.decide(policyRequest(call, clock.now()));
    return decision.kind === 'ask' ? { kind: 'ask', needs: needsOf(decision) } : { kind: decision.kind };
  };
  await approvals.redecide({ policySet: policy.current().digest, decide: () => ({ kind: 'allow' }), decideCard });
}
