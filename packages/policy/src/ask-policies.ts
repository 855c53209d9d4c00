import { systemClock } from '@palyra/primitives';
import type { DirectorySource } from './compile-directory.ts';
import { type CompiledPolicies, compilePolicies, loadPolicies } from './compiled-policies.ts';
import { diffPolicySets, type PolicyDiff } from './diff.ts';
import { type Explanation, explain } from './explain.ts';
import { parsePolicyTests } from './parse-policy-tests.ts';
import { readPolicyDirectory } from './read-policy-directory.ts';
import type { PolicyEvaluationConfig } from './request.ts';
import { readWrittenRequest } from './written-request.ts';

/** What decides now, and the files that would. */
export interface DirectoryDiff extends DirectorySource {
  readonly active: CompiledPolicies;
  readonly config: PolicyEvaluationConfig;
}

export interface AskedExplanation {
  readonly active: CompiledPolicies;
  /** As `readWrittenRequest` takes it. */
  readonly written: unknown;
}

/** Seconds of work: for a thread of its own. */
export async function diffDirectory({ active, directory, preset, config }: DirectoryDiff): Promise<PolicyDiff> {
  const { files, tests } = readPolicyDirectory(directory);
  const next = compilePolicies({ preset, files });
  const requests = parsePolicyTests(tests).map(({ request }) => request);
  const [before, after] = [await loadPolicies(active), await loadPolicies(next)];
  try {
    return diffPolicySets(
      { policies: active.set.policies, engine: before.engine },
      { policies: next.set.policies, engine: after.engine },
      { config, clock: systemClock, tests: requests },
    );
  } finally {
    before.close();
    after.close();
  }
}

/** The same engine, on the same policies. */
export async function explainWritten({ active, written }: AskedExplanation): Promise<Explanation> {
  const { request, config } = readWrittenRequest(written);
  const loaded = await loadPolicies(active);
  try {
    return await explain(request, { compiled: active, loaded, config });
  } finally {
    loaded.close();
  }
}
