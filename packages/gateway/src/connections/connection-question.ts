import type { Question } from '@palyra/approvals';
import type { Target } from '@palyra/egress';
import { canonicalJson, sha256OfParts } from '@palyra/primitives';
import { BOUND_TO_NOTHING } from '../catalog/tool.ts';
import type { DecidedCall } from '../tool-call/decided-call.ts';
import { questionOf, type RuleOffer } from '../tool-call/question-of.ts';
import type { OperatorNetwork } from './operator-network.ts';

export interface Offered {
  readonly rules?: RuleOffer;
  readonly network: Pick<OperatorNetwork, 'registryHosts' | 'pinned'>;
}

const DOMAIN = 'palyra/connection-question/v1';

/**
 * What a human is asked while a connection is held: the host, and the call that wants it.
 * SECURITY: T-03 — bound to the arguments of the call and to host and port: a yes is for no other command and no other
 * host. The same command that connects to the same host again asks the same question.
 */
export function connectionQuestion(call: DecidedCall, target: Target, { rules, network }: Offered): Question {
  const { host, port } = target;
  const asked = questionOf(call, BOUND_TO_NOTHING, rules);
  const subject: Question['subject'] = {
    ...asked.subject,
    action: `${asked.subject.action} connect`,
    arguments: { call: call.plan.arguments, connect: { host, port } },
  };
  const told = sha256OfParts(DOMAIN, [canonicalJson({ ...subject, bound: [] })]);
  return {
    ...asked,
    // Of the run and the question, not of the call: whoever could not wait finds the answer when it connects again.
    key: `${call.run.id}/connect/${told}`,
    subject,
    facts: {
      ...asked.facts,
      action: { kind: 'connection', host, port, by: call.plan.shown },
      // SECURITY: T-08 — a name that only looks like one of the operator's own is told from it.
      knownHosts: [...new Set([...asked.facts.knownHosts, ...namesOf(network)])],
      notBound: [STARTED],
    },
  };
}

const STARTED = 'It runs already: what it sends there is not bound, only where it connects to.';

function namesOf({ registryHosts, pinned }: Offered['network']): readonly string[] {
  return [...registryHosts.map((host) => host.replace(/:\d+$/, '')), ...Object.keys(pinned)];
}
