import { statSync } from 'node:fs';
import { checkHome, loadConfig, type PolicyPreset } from '@palyra/config';
import type { PolicyDirectory } from '@palyra/policy';
import { visibleText } from '@palyra/primitives';
import { CliError } from './cli-error.ts';
import type { CommandContext } from './command.ts';
import { findHome, resolvePath } from './find-home.ts';

export interface FoundPolicies extends PolicyDirectory {
  readonly directory: string;
  readonly preset: PolicyPreset;
  /** Of the environment, for the command to pass on. */
  readonly warnings: readonly string[];
}

/** The policies of the home, or of a directory that was typed, with the home's preset. Needs no daemon. */
export async function findPolicies(typed: string | undefined, context: CommandContext): Promise<FoundPolicies> {
  const { home, environment } = findHome(context);
  checkHome(home);
  const { config } = loadConfig({ home, environment });
  const directory = typed === undefined ? home.policies : resolvePath(typed, context);
  if (typed !== undefined) refuseUnlessDirectory(directory);
  // Late, because it loads four megabytes of WebAssembly, which most commands never need.
  const { readPolicyDirectory } = await import('@palyra/policy');
  const found = readPolicyDirectory(directory, { shownAs: directory });
  return { ...found, directory, preset: config.policy.preset, warnings: environment.warnings };
}

/** No policies at all is a home's good right, and a slip of the finger in an argument. */
function refuseUnlessDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new CliError('cli.no_directory', `There is no directory ${visibleText(path)}.`, { fix: 'Check the path.' });
}
