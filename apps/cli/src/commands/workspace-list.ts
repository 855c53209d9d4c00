import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { withDaemon } from '../reach-daemon.ts';
import { renderTable } from '../render/table.ts';

export const workspaceList: CommandDefinition = {
  name: 'workspace list',
  group: 'Agents',
  summary: 'List the folders that agents may work in',
  async run(_input, context) {
    return withDaemon(context, 'operator', async ({ client }) => {
      const workspaces = await client.workspaces.list();
      const rows = workspaces.map(({ root, workspace_id: id, added_by: by, added_at: at = '' }) => [
        visibleText(root),
        id.slice(-6),
        visibleText(by),
        at.slice(0, 10),
      ]);
      return {
        json: { workspaces },
        render: (paint) =>
          rows.length === 0
            ? 'There is none yet: palyra workspace add DIR\n'
            : renderTable(['PATH', 'ID', 'ADDED BY', 'SINCE'], rows, { paint, columns: context.columns() }),
      };
    });
  },
};
