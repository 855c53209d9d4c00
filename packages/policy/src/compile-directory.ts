import type { Sha256Hex } from '@palyra/primitives';
import { type CompiledPolicies, compilePolicies } from './compiled-policies.ts';
import { parsePolicyTests } from './parse-policy-tests.ts';
import type { PresetName } from './policy-set.ts';
import { requirePassed, runPolicyTests } from './policy-test.ts';
import { readPolicyDirectory } from './read-policy-directory.ts';

export interface DirectorySource {
  /** Absolute. */
  readonly directory: string;
  readonly preset: PresetName;
}

/** What a directory held, checked and tested. */
export interface CompiledDirectory extends CompiledPolicies {
  readonly sourceDigest: Sha256Hex;
  /** How many tests passed. */
  readonly tests: number;
}

/** Everything between the files and a set that may be activated. Throws `PolicyError`; nothing is half done. */
export async function compileDirectory({ directory, preset }: DirectorySource): Promise<CompiledDirectory> {
  const { files, tests, sourceDigest } = readPolicyDirectory(directory);
  const compiled = compilePolicies({ preset, files });
  const results = await runPolicyTests(compiled, parsePolicyTests(tests));
  requirePassed(results);
  return { ...compiled, sourceDigest, tests: results.length };
}
