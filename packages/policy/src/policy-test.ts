import { type CompiledPolicies, type LoadedPolicies, loadPolicies } from './compiled-policies.ts';
import type { PolicyEngine } from './decide.ts';
import type { Decision } from './decision.ts';
import type { PolicyTest } from './parse-policy-tests.ts';
import { createProblemList } from './problem-list.ts';
import type { PolicyEvaluationConfig } from './request.ts';

export type PolicyTestResult =
  | { readonly kind: 'passed'; readonly test: PolicyTest }
  | {
      readonly kind: 'failed';
      readonly test: PolicyTest;
      readonly differences: readonly TestDifference[];
      readonly decision: Decision;
    };

export interface TestDifference {
  /** The key of the expectation: `answer`, `policies`, `offer`, … */
  readonly what: string;
  readonly expected: string;
  readonly got: string;
}

/** In the order of the tests. Throws only when the policies cannot be put to work. */
export async function runPolicyTests(
  compiled: CompiledPolicies,
  tests: readonly PolicyTest[],
): Promise<readonly PolicyTestResult[]> {
  if (tests.length === 0) return [];
  const loaded = await loadPolicies(compiled);
  try {
    const engineFor = createEngines(loaded);
    return tests.map((test) => runTest(test, engineFor(test.config)));
  } finally {
    loaded.close();
  }
}

/** A set whose example flips is not the set that its author meant. Throws `policy.test_failed` with every failure. */
export function requirePassed(results: readonly PolicyTestResult[]): void {
  const problems = createProblemList();
  for (const result of results) {
    if (result.kind === 'passed') continue;
    const { test, differences } = result;
    const told = differences.map(({ what, expected, got }) => `expected ${what} ${expected}, got ${got}`).join('; ');
    const fix = 'Change the policy, or the test when the new answer is meant.';
    problems.add('policy.test_failed', test, { message: `"${test.name}": ${told}.`, fix });
  }
  problems.throwAny();
}

function createEngines(loaded: LoadedPolicies): (config: PolicyEvaluationConfig) => PolicyEngine {
  const engines = new Map<string, PolicyEngine>();
  return (config) => {
    const key = JSON.stringify(config);
    const engine = engines.get(key) ?? loaded.engine(config);
    engines.set(key, engine);
    return engine;
  };
}

function runTest(test: PolicyTest, engine: PolicyEngine): PolicyTestResult {
  const enforced = engine.decide(test.request);
  // An operator's tests are about the operator's policies, which the observe preset only watches.
  const decision = test.origin.kind === 'palyra' ? enforced : (enforced.observed ?? enforced);
  const differences = differencesOf(test, decision, enforced.observed);
  return differences.length === 0 ? { kind: 'passed', test } : { kind: 'failed', test, differences, decision };
}

function differencesOf(
  { expected }: PolicyTest,
  decision: Decision,
  observed: Decision['observed'],
): readonly TestDifference[] {
  const { reasonCode, obligations } = decision;
  // SECURITY: T-09 — a fault denies, so it would fulfil every test that expects a denial.
  const isFault = reasonCode === 'evaluation_failed' || reasonCode === 'invalid_request';
  if (isFault && expected.reason_code !== reasonCode) {
    return [{ what: 'answer', expected: expected.answer, got: `no answer (${decision.reason})` }];
  }
  const pairs: readonly (readonly [string, string | number | undefined, string | number | undefined])[] = [
    ['answer', expected.answer, decision.kind],
    ['policies', expected.policies && listed(expected.policies), listed(decision.policyIds)],
    ['reason_code', expected.reason_code, reasonCode],
    ['offer', expected.offer, obligations.offer],
    ['tier', expected.tier, obligations.tier],
    ['egress', expected.egress, obligations.egress],
    ['approvers', expected.approvers, obligations.approvers],
    ['assurance', expected.assurance, obligations.assurance],
    ['observed', expected.observed, observed?.kind],
  ];
  return pairs
    .filter(([, wanted, got]) => wanted !== undefined && wanted !== got)
    .map(([what, wanted, got]) => ({
      what,
      expected: String(wanted),
      got: got === undefined ? 'nothing' : String(got),
    }));
}

function listed(ids: readonly string[]): string {
  return `[${ids.toSorted().join(', ')}]`;
}
