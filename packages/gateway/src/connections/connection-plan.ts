import type { Target } from '@palyra/egress';
import type { ToolPlan } from '../catalog/tool.ts';
import { hostAndPort, isPrivateTarget } from './named-network.ts';
import type { OperatorNetwork } from './operator-network.ts';

/**
 * The call as it would be, had it named this host: what policy decides when it connects to one that it did not name.
 * A package registry stands for all that the operator knows, so that they are one question.
 */
export function planWith(plan: ToolPlan, target: Target, operator: OperatorNetwork): ToolPlan {
  const wanted = hostAndPort(target);
  const isRegistry = operator.registryHosts.includes(wanted);
  const hosts = isRegistry ? operator.registryHosts : [wanted];
  return {
    ...plan,
    capabilities: [...new Set([...plan.capabilities, 'network' as const])],
    enforced: {
      ...plan.enforced,
      egress: 'strict',
      hosts,
      registryHosts: isRegistry ? hosts : [],
      // SECURITY: T-02, T-23 — what is never handed out is denied here, and nobody is asked about it.
      privateHosts: isPrivateTarget(target, operator.privateRanges) ? [wanted] : [],
    },
    declared: { ...plan.declared, hosts: [wanted] },
  };
}
