import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { findPolicies } from '../find-policies.ts';

/** Runs the operator's examples as activation does. */
export const policyTest: CommandDefinition = {
  name: 'policy test',
  group: 'Policy',
  summary: 'Run the policy tests beside the policies',
  details:
    'Each *.policytest.toml holds requests and the answers they must get; policies whose test fails are not activated. ' +
    'Exits with 0 when all pass and with 2 when one does not. Needs no daemon.',
  arguments: [{ name: 'DIR', summary: 'The directory to test instead of the one in the home', isRequired: false }],
  async run({ arguments: [typed] }, context) {
    const { directory, preset, files, tests, warnings } = await findPolicies(typed, context);
    const { compilePolicies, parsePolicyTests, requirePassed, runPolicyTests } = await import('@palyra/policy');
    const compiled = compilePolicies({ preset, files });
    const results = await runPolicyTests(compiled, parsePolicyTests(tests));
    requirePassed(results);
    const passed = results.map(({ test: { file, line, name } }) => ({ file, line, name }));
    return {
      json: { directory, preset, digest: compiled.set.digest, passed, warnings },
      render: () =>
        passed.length === 0
          ? `There are no policy tests in ${visibleText(directory)}.\n`
          : `${passed.length === 1 ? 'The policy test passes' : `All ${passed.length} policy tests pass`} (preset ${preset}).\n`,
      warnings,
    };
  },
};
