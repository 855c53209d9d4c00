import type { AlwaysHereRule } from './always-here.ts';
import { type CompiledPolicies, loadPolicies } from './compiled-policies.ts';
import { type DiffOptions, type DiffSide, diffPolicySets, type PolicyDiff } from './diff.ts';
import type { PolicyRecord, PolicySet } from './policy-set.ts';

export interface PreviewInput {
  readonly rule: AlwaysHereRule;
  readonly compiled: CompiledPolicies;
  /** The same policies at work. */
  readonly loaded: Pick<DiffSide, 'engine'>;
}

/** What the rule would newly allow, to be shown before it is written. */
export async function previewRule({ rule, compiled, loaded }: PreviewInput, options: DiffOptions): Promise<PolicyDiff> {
  const withRule = (set: PolicySet): PolicySet => ({
    ...set,
    policies: [...set.policies.filter(({ id }) => id !== rule.id), recordOf(rule)],
  });
  const { set, observed } = compiled;
  const next = { set: withRule(set), ...(observed === undefined ? {} : { observed: withRule(observed) }) };
  const after = await loadPolicies(next);
  try {
    const before = { policies: set.policies, engine: loaded.engine };
    return diffPolicySets(before, { policies: next.set.policies, engine: after.engine }, options);
  } finally {
    after.close();
  }
}

function recordOf({ id, workspace, reason, policyText }: AlwaysHereRule): PolicyRecord {
  return {
    id,
    text: policyText,
    effect: 'permit',
    file: `policies/workspaces/${workspace}+always.cedar`,
    line: 1,
    column: 1,
    reason,
    fix: undefined,
    obligations: {},
    origin: { kind: 'workspace', workspace },
  };
}
