import type { PolicyRecord, PolicySet } from '@palyra/policy';
import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { findPolicies } from '../find-policies.ts';

/** Says whether Palyra would activate these policies, as far as that can be said without running their tests. */
export const policyCheck: CommandDefinition = {
  name: 'policy check',
  group: 'Policy',
  summary: 'Check the policies, without activating them',
  details:
    'Reports every problem with its file, line and column. Exits with 0 when the policies would be accepted and with 2 ' +
    'when they would not. Needs no daemon.',
  arguments: [{ name: 'DIR', summary: 'The directory to check instead of the one in the home', isRequired: false }],
  async run({ arguments: [typed] }, context) {
    const { directory, preset, files, tests, warnings } = await findPolicies(typed, context);
    const { compilePolicies, parsePolicyTests } = await import('@palyra/policy');
    const { set } = compilePolicies({ preset, files });
    const testCount = parsePolicyTests(tests).length;
    const counts = countByOrigin(set.policies);
    return {
      json: {
        valid: true,
        directory,
        preset,
        digest: set.digest,
        policies: counts,
        files: files.length,
        tests: testCount,
        policy_warnings: set.warnings.map(({ policyId, message }) => ({ policy_id: policyId, message })),
        warnings,
      },
      render: () =>
        `The policies in ${visibleText(directory)} are valid.\n` +
        `  preset    ${preset} (${counts.palyra} policies)\n` +
        `  yours     ${plural(counts.operator, 'policy', 'policies')}, ${counts.workspace} for single workspaces, ` +
        `in ${plural(files.length, 'file', 'files')}\n` +
        `  tests     ${testCount}${testCount === 0 ? '' : ' (run them: palyra policy test)'}\n` +
        `  digest    ${set.digest}\n`,
      warnings: [...warnings, ...placedWarnings(set)],
    };
  },
};

function countByOrigin(policies: readonly PolicyRecord[]): Readonly<Record<PolicyRecord['origin']['kind'], number>> {
  const count = (kind: PolicyRecord['origin']['kind']) => policies.filter(({ origin }) => origin.kind === kind).length;
  return { palyra: count('palyra'), operator: count('operator'), workspace: count('workspace') };
}

function placedWarnings({ policies, warnings }: PolicySet): readonly string[] {
  const records = new Map(policies.map((policy) => [policy.id, policy]));
  return warnings.map(({ policyId, message }) => {
    const { file = '', line = 1, column = 1 } = records.get(policyId) ?? {};
    return `${visibleText(file)}:${line}:${column}: ${policyId}: ${message}`;
  });
}

function plural(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
