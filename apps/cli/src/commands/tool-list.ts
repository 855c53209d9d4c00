import type { CommandDefinition } from '../command.ts';
import { withDaemon } from '../reach-daemon.ts';
import { safeText } from '../render/safe-text.ts';
import { renderTable } from '../render/table.ts';

export const toolList: CommandDefinition = {
  name: 'tool list',
  group: 'Agents',
  summary: 'List the tools that agents may propose',
  options: [{ flags: '--all', summary: 'Those for tests and demos, too' }],
  async run({ options }, context) {
    return withDaemon(context, 'agent', async ({ client }) => {
      const tools = await client.tools.list({ includeHidden: options['all'] === true });
      const rows = tools.map(({ name, tier, capabilities, description }) => [
        safeText(name),
        tier,
        capabilities.join(', '),
        safeText(description),
      ]);
      return {
        json: { tools },
        render: (paint) =>
          renderTable(['TOOL', 'TIER', 'CAPABILITIES', 'WHAT IT DOES'], rows, { paint, columns: context.columns() }),
      };
    });
  },
};
