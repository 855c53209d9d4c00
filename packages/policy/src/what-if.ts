import { type CompiledPolicies, type LoadedPolicies, loadPolicies } from './compiled-policies.ts';
import type { Decision } from './decision.ts';
import { leavingsOf } from './leavings.ts';
import type { PolicySet } from './policy-set.ts';
import type { EnforcedFacts, Leaving, PolicyEvaluationConfig, PolicyRequest } from './request.ts';

/** One thing that would give another answer, found by asking again. */
export type WhatIf =
  /** `assurance` and `approvers`: what such an approval needs. */
  | { readonly kind: 'approved'; readonly answer: AnswerKind; readonly assurance: string; readonly approvers: number }
  | { readonly kind: 'listed'; readonly answer: AnswerKind; readonly lists: readonly ListName[] }
  | { readonly kind: 'not_leaving'; readonly answer: AnswerKind; readonly leavings: readonly Leaving[] }
  | { readonly kind: 'stronger_plan'; readonly answer: AnswerKind; readonly tier: string; readonly egress: string }
  /** Also when the answer stays `deny`: then it is not the only thing in the way. */
  | { readonly kind: 'without_forbid'; readonly answer: AnswerKind; readonly policyIds: readonly string[] }
  | { readonly kind: 'permit_missing' };

export type AnswerKind = Decision['kind'];
export type ListName = 'tool' | 'skill' | 'principal' | 'channel';

export interface WhatIfDeps {
  readonly compiled: CompiledPolicies;
  /** The same policies at work. */
  readonly loaded: LoadedPolicies;
  readonly config: PolicyEvaluationConfig;
}

/** Empty for an allowed request. Every entry but `permit_missing` was decided by the same engine on a changed request. */
export async function whatWouldChange(
  request: PolicyRequest,
  decision: Decision,
  deps: WhatIfDeps,
): Promise<readonly WhatIf[]> {
  if (decision.kind === 'allow') return [];
  const ask: Ask = (changed, config = deps.config) => deps.loaded.engine(config).decide(changed);
  return [
    ...ifApproved(request, decision, ask),
    ...ifListed(request, decision, { config: deps.config, ask }),
    ...ifNotLeaving(request, decision, ask),
    ...ifStronger(request, decision, ask),
    ...(await withoutForbids(request, decision, deps)),
    ...(decision.reasonCode === 'no_permit' ? [{ kind: 'permit_missing' } as const] : []),
  ];
}

type Ask = (request: PolicyRequest, config?: PolicyEvaluationConfig) => Decision;

const RANKS: Readonly<Record<AnswerKind, number>> = { deny: 0, ask: 1, allow: 2 };

function isBetter(found: Decision, than: Decision): boolean {
  return RANKS[found.kind] > RANKS[than.kind];
}

function ifApproved(request: PolicyRequest, decision: Decision, ask: Ask): readonly WhatIf[] {
  const { assurance = 'same_host_key', approvers = 1 } = decision.obligations;
  // The weakest approval that the obligations allow, then the strongest: some conditions read the assurance.
  for (const tried of [assurance, 'user_verified'] as const) {
    const approval = { assurance: tried, approvers };
    const answer = ask({ ...request, context: { ...request.context, approval } });
    if (isBetter(answer, decision)) return [{ kind: 'approved', answer: answer.kind, ...approval }];
  }
  return [];
}

interface ListInput {
  readonly config: PolicyEvaluationConfig;
  readonly ask: Ask;
}

function ifListed(request: PolicyRequest, decision: Decision, { config, ask }: ListInput): readonly WhatIf[] {
  const additions = listAdditions(request, config);
  const names = Object.keys(additions) as ListName[];
  const tryLists = (lists: readonly ListName[]): readonly WhatIf[] => {
    const wider = Object.assign({}, config, ...lists.map((list) => additions[list])) as PolicyEvaluationConfig;
    const answer = ask(request, wider);
    return isBetter(answer, decision) ? [{ kind: 'listed', answer: answer.kind, lists }] : [];
  };
  const single = names.flatMap((list) => tryLists([list]));
  return single.length > 0 || names.length < 2 ? single : tryLists(names);
}

function listAdditions(
  { principal, context: { channel, facts } }: PolicyRequest,
  config: PolicyEvaluationConfig,
): Readonly<Partial<Record<ListName, Partial<PolicyEvaluationConfig>>>> {
  if (facts.kind !== 'call') return {};
  const { toolName, skillId } = facts;
  return {
    tool: { allowedTools: [...config.allowedTools, toolName] },
    ...(skillId === undefined ? {} : { skill: { allowedSkills: [...config.allowedSkills, skillId] } }),
    principal: { allowedPrincipals: [...config.allowedPrincipals, principal.id] },
    ...(channel === undefined ? {} : { channel: { allowedChannels: [...config.allowedChannels, channel] } }),
  };
}

function ifNotLeaving(request: PolicyRequest, decision: Decision, ask: Ask): readonly WhatIf[] {
  const { facts } = request.context;
  if (facts.kind !== 'call') return [];
  const all = leavingsOf(facts.enforced, facts.capabilities);
  const tryWithout = (leavings: readonly Leaving[]): readonly WhatIf[] => {
    const enforced = leavings.reduce(withoutLeaving, facts.enforced);
    const answer = ask(withEnforced(request, enforced));
    return isBetter(answer, decision) ? [{ kind: 'not_leaving', answer: answer.kind, leavings }] : [];
  };
  const single = all.flatMap((leaving) => tryWithout([leaving]));
  return single.length > 0 || all.length < 2 ? single : tryWithout(all);
}

function withoutLeaving(enforced: EnforcedFacts, leaving: Leaving): EnforcedFacts {
  const { upstream: _, ...own } = enforced;
  const except = (gone: readonly string[]) => enforced.hosts.filter((host) => !gone.includes(host));
  switch (leaving) {
    case 'host': {
      const known = [...enforced.registryHosts, ...enforced.clientHosts];
      return { ...enforced, hosts: enforced.hosts.filter((host) => known.includes(host)) };
    }
    case 'registry':
      return { ...enforced, hosts: except(enforced.registryHosts), registryHosts: [] };
    case 'client_host':
      return { ...enforced, hosts: except(enforced.clientHosts), clientHosts: [] };
    case 'open_network':
      return { ...enforced, egress: 'strict' };
    case 'secret':
      return { ...enforced, secrets: [] };
    case 'upstream':
      return own;
    case 'protected_file':
      return { ...enforced, protectedPaths: [] };
    case 'secret_file':
      return { ...enforced, secretFiles: [] };
    case 'outside_path':
      return { ...enforced, outsidePaths: [] };
    case 'limits_only':
    case 'unboxed':
      return { ...enforced, tier: 'C' };
  }
}

function withEnforced(request: PolicyRequest, enforced: EnforcedFacts): PolicyRequest {
  const { facts } = request.context;
  if (facts.kind !== 'call') return request;
  return { ...request, context: { ...request.context, facts: { ...facts, enforced } } };
}

function ifStronger(request: PolicyRequest, decision: Decision, ask: Ask): readonly WhatIf[] {
  const { facts } = request.context;
  if (decision.reasonCode !== 'obligation_unmet' || facts.kind !== 'call') return [];
  const { tier = facts.enforced.tier, egress = facts.enforced.egress } = decision.obligations;
  const answer = ask(withEnforced(request, { ...facts.enforced, tier, egress }));
  return isBetter(answer, decision) ? [{ kind: 'stronger_plan', answer: answer.kind, tier, egress }] : [];
}

async function withoutForbids(
  request: PolicyRequest,
  decision: Decision,
  { compiled, config }: WhatIfDeps,
): Promise<readonly WhatIf[]> {
  const policyIds = compiled.set.policies
    .filter(({ id, effect }) => effect === 'forbid' && decision.policyIds.includes(id))
    .map(({ id }) => id)
    .toSorted();
  if (policyIds.length === 0) return [];
  const loaded = await loadPolicies(without(compiled, policyIds));
  try {
    return [{ kind: 'without_forbid', answer: loaded.engine(config).decide(request).kind, policyIds }];
  } finally {
    loaded.close();
  }
}

function without({ set, observed }: CompiledPolicies, ids: readonly string[]): CompiledPolicies {
  const fewer = (whole: PolicySet): PolicySet => ({
    ...whole,
    policies: whole.policies.filter(({ id }) => !ids.includes(id)),
  });
  return observed === undefined ? { set: fewer(set) } : { set: fewer(set), observed: fewer(observed) };
}
