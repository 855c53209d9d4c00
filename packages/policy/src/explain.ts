import { askableActions } from './askable-actions.ts';
import { type ApprovalState, toCedarRequest } from './cedar-request.ts';
import type { Decision } from './decision.ts';
import type { EvaluationRequest } from './evaluator.ts';
import { coversAction, pathsReadBy } from './policy-expressions.ts';
import type { PolicyRecord } from './policy-set.ts';
import { readSchema } from './presets.ts';
import type { PolicyRequest } from './request.ts';
import { type WhatIf, type WhatIfDeps, whatWouldChange } from './what-if.ts';

export interface Explanation {
  readonly decision: Decision;
  /** Those that determined the answer. */
  readonly policies: readonly ExplainedPolicy[];
  /** What these policies read; when none decided, what the permits for this action read. */
  readonly facts: readonly ExplainedFact[];
  readonly wouldChange: readonly WhatIf[];
}

export type ExplainedPolicy = Pick<PolicyRecord, 'id' | 'effect' | 'text' | 'file' | 'line'>;

export interface ExplainedFact {
  /** As policies write it: `context.enforced.hosts`. */
  readonly name: string;
  /** Undefined: the request does not have it. */
  readonly value: unknown;
  readonly origin: FactOrigin;
  readonly readBy: readonly string[];
}

/** `enforced`: the sandbox holds it. `declared`: the arguments say so, and nothing holds a process to it. */
export type FactOrigin = 'enforced' | 'declared' | 'situation';

/** The answer of `decide`, by `decide` itself, with what it rests on and what would change it. */
export async function explain(request: PolicyRequest, deps: WhatIfDeps): Promise<Explanation> {
  const decision = deps.loaded.engine(deps.config).decide(request);
  const { policies } = deps.compiled.set;
  const determining = policies.filter(({ id }) => decision.policyIds.includes(id));
  const read = decision.reasonCode === 'no_permit' ? permitsFor(request.action, policies) : determining;
  return {
    decision,
    policies: determining.map(({ id, effect, text, file, line }) => ({ id, effect, text, file, line })),
    facts: factsReadBy(read, request, deps),
    wouldChange: await whatWouldChange(request, decision, deps),
  };
}

function permitsFor(action: string, policies: readonly PolicyRecord[]): readonly PolicyRecord[] {
  const asked = askableActions(readSchema()).find(({ name }) => name === action);
  if (asked === undefined) return [];
  return policies.filter((policy) => policy.effect === 'permit' && coversAction(policy, asked));
}

function factsReadBy(
  policies: readonly PolicyRecord[],
  request: PolicyRequest,
  deps: WhatIfDeps,
): readonly ExplainedFact[] {
  const asked = cedarRequest(request, deps);
  if (asked === undefined) return [];
  const readers = new Map<string, string[]>();
  for (const policy of policies) {
    for (const path of pathsReadBy(policy)) readers.set(path, [...(readers.get(path) ?? []), policy.id]);
  }
  return [...readers.keys()].toSorted().map((name) => ({
    name,
    value: shown(valueAt(name, request, asked)),
    origin: originOf(name),
    readBy: readers.get(name) ?? [],
  }));
}

/** The first of the two evaluations: the facts as they are, not as an approval would make them. */
function cedarRequest(request: PolicyRequest, { config }: WhatIfDeps): EvaluationRequest | undefined {
  const { approval } = request.context;
  const state: ApprovalState =
    approval === undefined ? { approved: false, assurance: 'none' } : { approved: true, assurance: approval.assurance };
  try {
    return toCedarRequest(request, config, state);
  } catch {
    // It was refused as malformed, which the decision says.
    return undefined;
  }
}

function valueAt(name: string, { groups }: PolicyRequest, asked: EvaluationRequest): unknown {
  if (name === 'principal' && groups.length > 0) return `${uidText(asked.principal)} in ${groups.join(', ')}`;
  if (name === 'principal' || name === 'resource' || name === 'action') return uidText(asked[name]);
  const [, ...path] = name.split('.');
  return path.reduce<unknown>(
    (value, key) => (isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    asked.context,
  );
}

function uidText({ type, id }: { readonly type: string; readonly id: string }): string {
  return `${type}::${JSON.stringify(id)}`;
}

/** Cedar's escapes as a person writes them. */
function shown(value: unknown): unknown {
  if (!isRecord(value)) return value;
  if (isRecord(value['__entity'])) return uidText(value['__entity'] as { type: string; id: string });
  return isRecord(value['__extn']) ? value['__extn']['arg'] : value;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function originOf(name: string): FactOrigin {
  // SECURITY: T-49 — whoever reads a rule must see which of its facts nothing enforces.
  if (name === 'context.declared' || name.startsWith('context.declared.')) return 'declared';
  return name === 'context.enforced' || name.startsWith('context.enforced.') ? 'enforced' : 'situation';
}
