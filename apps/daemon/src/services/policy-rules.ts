import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { PolicyService } from '@palyra/api';
import type { Caller, OperatorNetwork, RememberedRules, RuleOutcome, Workspace } from '@palyra/gateway';
import { alwaysHereRule, parseRule } from '@palyra/policy';
import { AppError } from '@palyra/primitives';
import { type AuthenticatedPeer, peerOf } from '../interceptors/peer-context.ts';
import { callerOf } from '../wire/caller-of.ts';
import { requireHuman } from './human-peer.ts';

export interface PolicyRulesDeps {
  readonly rules: Pick<RememberedRules, 'allow' | 'list' | 'remove'>;
  readonly network: Pick<OperatorNetwork, 'registryHosts'>;
  workspaceFor(peer: AuthenticatedPeer, text: string): Promise<Workspace>;
  placeOf(peer: AuthenticatedPeer): Pick<Caller, 'coverage' | 'separation'>;
}

/** The part of the service that is about answers for always. */
export type PolicyRules = Pick<ServiceImpl<typeof PolicyService>, 'allowRule' | 'listRules' | 'removeRule'>;

export function createPolicyRules({ rules, network, workspaceFor, placeOf }: PolicyRulesDeps): PolicyRules {
  /** SECURITY: T-06 — a rule is an answer for always: only people give those. */
  const humanIn = (context: HandlerContext): { readonly peer: AuthenticatedPeer; readonly by: Caller } => {
    const peer = peerOf(context);
    requireHuman(peer);
    return { peer, by: callerOf(peer, placeOf(peer)) };
  };
  return {
    async allowRule({ rule, workspace: text, dryRun }, context) {
      const { peer, by } = humanIn(context);
      const workspace = await workspaceFor(peer, text);
      const effect = parseRule({ text: rule, workspaceRoot: workspace.root, registryHosts: network.registryHosts });
      const written = alwaysHereRule({ workspace: workspace.id, effect, offer: 'always' });
      if (!dryRun) requireInForce(await rules.allow({ workspace, rule, by }));
      return { ruleId: written.id, text: written.policyText };
    },
    async listRules(_request, context) {
      const peer = peerOf(context);
      const listed = rules.list(callerOf(peer, placeOf(peer)));
      return {
        rules: listed.map(({ id, workspace, text, reason, isActive }) => ({
          ruleId: id,
          workspaceId: workspace,
          text,
          says: isActive ? (reason ?? '') : 'It is not in force: palyra policy apply.',
        })),
      };
    },
    async removeRule({ ruleId }, context) {
      const { by } = humanIn(context);
      requireInForce(await rules.remove(by, ruleId));
      return {};
    },
  };
}

/** Throws why nothing was written. */
function requireInForce(outcome: RuleOutcome): void {
  if (outcome.kind === 'in_force') return;
  const { code, message, fix } = outcome;
  throw new AppError(code, message, fix === undefined ? {} : { fix });
}
