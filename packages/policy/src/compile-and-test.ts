import type { CompiledDirectory } from './compile-directory.ts';
import type { PolicySource } from './compile-policy-set.ts';
import { compilePolicies } from './compiled-policies.ts';
import { parsePolicyTests } from './parse-policy-tests.ts';
import { requirePassed, runPolicyTests } from './policy-test.ts';
import type { PolicyTestFile } from './presets.ts';

/** Throws `PolicyError`. */
export async function compileAndTest(
  source: PolicySource,
  tests: readonly PolicyTestFile[],
): Promise<Omit<CompiledDirectory, 'sourceDigest'>> {
  const compiled = compilePolicies(source);
  const results = await runPolicyTests(compiled, parsePolicyTests(tests));
  requirePassed(results);
  return { ...compiled, tests: results.length };
}
