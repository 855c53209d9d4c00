import { type Needs, PLAIN_NEEDS, type Question } from '@palyra/approvals';
import type { Decision } from '@palyra/policy';
import type { BoundCall } from '../catalog/tool.ts';
import type { DecidedCall } from './decided-call.ts';
import { effectsOf } from './effects-of.ts';

/** What a human is asked about a call: all of it is the server's own knowledge, but for the agent's reason. */
export function questionOf(call: DecidedCall, { bound, notBound }: BoundCall, rules?: RuleOffer): Question {
  const { id, run, proposed, tool, plan, decision, under } = call;
  const { enforced } = plan;
  const canWriteRule = rules?.canWrite(plan, run.workspace) ?? false;
  return {
    // SECURITY: T-41 — those of one principal share a room for keys: the run keeps another one's apart, and none is an id of ours.
    key: proposed.key === undefined ? id : `${run.id}/${proposed.key}`,
    run: run.id,
    credential: run.caller.credential,
    subject: {
      action: `${tool.metadata.name}@${tool.metadata.version}`,
      arguments: plan.arguments,
      bound,
      skill: null,
      profile: plan.profile,
      workspace: run.workspace.id,
      principal: run.caller.actor,
      session: run.session,
    },
    effects: effectsOf(plan),
    facts: {
      action: plan.shown,
      cwd: plan.cwd,
      workspacePath: run.workspace.root,
      hosts: enforced.hosts,
      knownHosts: run.config.processRunner.allowedHosts.map((host) => host.replace(/:\d+$/, '')),
      hasOpenNetwork: enforced.egress === 'none' && enforced.tier !== 'built_in',
      secrets: enforced.secrets,
      tier: enforced.tier,
      outsidePaths: enforced.outsidePaths,
      protectedPaths: enforced.protectedPaths,
      notBound,
      agentSays: proposed.agentSays ?? null,
    },
    needs: needsOf(decision),
    policy: { set: under.digest, ids: decision.policyIds, reason: decision.reason, canWriteRule },
  };
}

/** Whether a yes for good can be made a rule. */
export interface RuleOffer {
  canWrite(plan: DecidedCall['plan'], workspace: DecidedCall['run']['workspace']): boolean;
  /** Resolves when the rules that are being written decide; undefined: none is. */
  underWay?(): Promise<void> | undefined;
}

/** What the policies that ask demand of the answer. */
export function needsOf({ obligations }: Pick<Decision, 'obligations'>): Needs {
  const { approvers, assurance, offer, approvalTtlMs } = obligations;
  return {
    approvers: approvers ?? PLAIN_NEEDS.approvers,
    assurance: assurance ?? PLAIN_NEEDS.assurance,
    offer: offer ?? PLAIN_NEEDS.offer,
    ...(approvalTtlMs === undefined ? {} : { holdsMs: approvalTtlMs }),
  };
}
