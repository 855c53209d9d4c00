import type { ActivePolicies, PolicyRequest } from '@palyra/policy';
import type { Clock } from '@palyra/primitives';
import type { AdmittedCall } from './decided-call.ts';
import type { ToolCallSteps } from './run-tool-call.ts';

export interface DecideDeps {
  readonly policy: Pick<ActivePolicies, 'decide' | 'current'>;
  readonly clock: Clock;
}

/** Cedar decides, by what the plan enforces; what the arguments say only explains. */
export function createDecide({ policy, clock }: DecideDeps): ToolCallSteps['decide'] {
  return (call) => {
    const decidedAt = clock.now();
    const under = policy.current();
    const decision = policy.decide(policyRequest(call, decidedAt));
    if (decision.kind === 'deny') {
      return {
        kind: 'refused',
        code: `policy.${decision.reasonCode}`,
        message: decision.reason,
        fix: decision.fix,
        decision,
        under,
      };
    }
    return { kind: 'passed', call: { ...call, decision, under, decidedAt, needsBoundBytes: decision.kind === 'ask' } };
  };
}

export function policyRequest({ run, tool, plan, proposed }: AdmittedCall, now: number): PolicyRequest {
  const { caller } = run;
  return {
    principal: caller.principal,
    groups: caller.groups,
    action: 'tool.execute',
    resource: { type: 'Tool', id: tool.metadata.name },
    context: {
      ...(caller.deviceId === undefined ? {} : { deviceId: caller.deviceId }),
      ...(caller.channel === undefined ? {} : { channel: caller.channel }),
      sessionId: run.session,
      runId: run.id,
      workspace: run.workspace.id,
      coverage: caller.coverage,
      separation: caller.separation,
      now,
      facts: {
        kind: 'call',
        toolName: tool.metadata.name,
        capabilities: plan.capabilities,
        taints: proposed.taints ?? [],
        enforced: plan.enforced,
        declared: plan.declared,
      },
    },
  };
}
