import type { Sha256Hex } from '@palyra/primitives';
import { checkedPolicies } from './checked-presets.ts';
import type { CompiledPolicies } from './compiled-policies.ts';
import type { PresetName } from './policy-set.ts';
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
  const checked = files.length === 0 && tests.length === 0 ? checkedPolicies(preset) : undefined;
  if (checked !== undefined) return { ...checked, sourceDigest, tests: 0 };
  // Late: who has no policies of their own needs no Cedar here.
  const { compileAndTest } = await import('./compile-and-test.ts');
  return { ...(await compileAndTest({ preset, files }, tests)), sourceDigest };
}
