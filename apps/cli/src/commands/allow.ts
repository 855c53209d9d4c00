import type { CommandDefinition } from '../command.ts';
import { resolvePath } from '../find-home.ts';
import { withDaemon } from '../reach-daemon.ts';
import { safeText } from '../render/safe-text.ts';

/** "Always here", without waiting for the question. */
export const allow: CommandDefinition = {
  name: 'allow',
  group: 'Questions',
  summary: 'Write a rule: always allowed in this workspace',
  details:
    'Writes a Cedar rule with its test into the policies of this home and activates it: the same that "always here" does ' +
    'in the inbox. RULE is such as host:example.org:443, registries or secret-file:.env. palyra grants list shows them, ' +
    'palyra grants revoke removes one.',
  arguments: [{ name: 'RULE', summary: 'What to allow', isRequired: true }],
  options: [
    { flags: '--workspace <DIR>', summary: 'Where; here unless told' },
    { flags: '--dry-run', summary: 'Only show the rule' },
  ],
  async run({ arguments: [rule = ''], options }, context) {
    const { workspace: typed } = options;
    const workspace = typeof typed === 'string' ? resolvePath(typed, context) : context.workingDirectory();
    const dryRun = options['dryRun'] === true;
    return withDaemon(context, 'operator', async ({ client }) => {
      const written = await client.policies.allow({ rule, workspace, dryRun });
      const said = dryRun ? 'would be written' : `is written as ${written.rule_id} and decides from now on`;
      return {
        json: { ...written, dry_run: dryRun },
        render: () => `${safeText(written.text).trimEnd()}\nThis rule ${said}.\n`,
      };
    });
  },
};
