import type { CommandDefinition } from '../command.ts';
import { withDaemon } from '../reach-daemon.ts';

/** Edits on disk decide nothing until somebody says so. */
export const policyApply: CommandDefinition = {
  name: 'policy apply',
  group: 'Policy',
  summary: 'Let the policies on disk decide from now on',
  details:
    'Checks them, runs their tests, activates and records them; if anything is wrong, those of before go on deciding. ' +
    'palyra policy diff shows what they newly allow or deny.',
  async run(_input, context) {
    return withDaemon(context, 'operator', async ({ client }) => {
      const applied = await client.policies.apply();
      const digest = applied.policy_set_sha256.slice(0, 12);
      return {
        json: applied,
        render: () => (applied.changed ? `${digest} decides now.\n` : `Nothing has changed: ${digest} decides.\n`),
      };
    });
  },
};
