import type { CommandDefinition } from '../command.ts';
import { withDaemon } from '../reach-daemon.ts';
import { safeText } from '../render/safe-text.ts';
import { renderTable } from '../render/table.ts';

/** Everything that is allowed without asking again, because somebody said so. */
export const grantsList: CommandDefinition = {
  name: 'grants list',
  group: 'Questions',
  summary: 'List standing approvals and rules for always',
  options: [{ flags: '--all', summary: 'Those that ended, too' }],
  async run({ options }, context) {
    return withDaemon(context, 'operator', async ({ client }) => {
      const [grants, rules] = await Promise.all([
        client.grants.list({ includeEnded: options['all'] === true }),
        client.policies.rules(),
      ]);
      const rows = [
        ...grants.map((grant) => [
          grant.grant_id.slice(-6),
          grant.state,
          grant.scope ?? '',
          grant.expires_at?.slice(0, 16) ?? '',
          safeText(grant.principal),
          safeText(grant.covers),
        ]),
        ...rules.map((rule) => [rule.rule_id, 'active', 'always', '', 'everybody', safeText(rule.says)]),
      ];
      return {
        json: { grants, rules },
        render: (paint) =>
          rows.length === 0
            ? 'There is none.\n'
            : renderTable(['ID', 'STATE', 'SCOPE', 'UNTIL', 'WHO', 'WHAT'], rows, {
                paint,
                columns: context.columns(),
              }),
      };
    });
  },
};
