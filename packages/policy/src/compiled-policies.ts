import { compilePolicySet, type PolicySource } from './compile-policy-set.ts';
import { createPolicyEngine, type PolicyEngine } from './decide.ts';
import { createEvaluator, type Evaluator } from './evaluator.ts';
import type { PolicyRecord, PolicySet } from './policy-set.ts';
import { readSchema } from './presets.ts';
import { rememberAnswers } from './remembered-answers.ts';
import type { PolicyEvaluationConfig } from './request.ts';

/** A set as data, ready to be put to work on any thread. */
export interface CompiledPolicies {
  readonly set: PolicySet;
  /** With the observe preset: what the same files are under `coding`, whose answers are recorded and not enforced. */
  readonly observed?: PolicySet;
}

/** Policies at work. */
export interface LoadedPolicies {
  /** Engines of the same policies share everything but the configuration. */
  engine(config: PolicyEvaluationConfig): PolicyEngine;
  /** Gives the memory inside Cedar back; every decision after it is a refusal. */
  close(): void;
}

/** Throws as `compilePolicySet` does. */
export function compilePolicies(source: PolicySource): CompiledPolicies {
  const set = compilePolicySet(source);
  return source.preset === 'observe' ? { set, observed: compilePolicySet({ ...source, preset: 'coding' }) } : { set };
}

/** Parses in small steps and warms up, so that neither this nor the first decision holds the event loop for long. */
export async function loadPolicies({ set, observed }: CompiledPolicies): Promise<LoadedPolicies> {
  if (observed === undefined) {
    const evaluator = await startEvaluator(set.policies);
    return { engine: (config) => engineOf(set.policies, evaluator, config), close: () => evaluator.close() };
  }
  // Only `never` and its like are enforced, so an operator's forbid counts among what is observed.
  const ours = set.policies.filter(({ origin }) => origin.kind === 'palyra');
  const enforcing = await startEvaluator(ours);
  const observing = await startEvaluator(observed.policies);
  return {
    engine: (config) =>
      observingEngine(engineOf(ours, enforcing, config), engineOf(observed.policies, observing, config)),
    close() {
      enforcing.close();
      observing.close();
    },
  };
}

async function startEvaluator(policies: readonly PolicyRecord[]): Promise<Evaluator> {
  const evaluator = await createEvaluator({ schema: readSchema(), policies, strictlyValid: true });
  await evaluator.warmUp();
  return rememberAnswers(evaluator, policies);
}

function engineOf(
  policies: readonly PolicyRecord[],
  evaluator: Evaluator,
  config: PolicyEvaluationConfig,
): PolicyEngine {
  return createPolicyEngine({ policies, config, evaluate: (request) => evaluator.evaluate(request) });
}

const CALLS: ReadonlySet<string> = new Set(['tool.execute', 'skill.execute']);

/** Calls are only watched; who may approve, administer or read Palyra itself is no less guarded than otherwise. */
function observingEngine(enforced: PolicyEngine, observed: PolicyEngine): PolicyEngine {
  return {
    decide(request) {
      if (!CALLS.has(request.action)) return observed.decide(request);
      return { ...enforced.decide(request), observed: observed.decide(request) };
    },
  };
}
