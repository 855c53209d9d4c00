import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { withDaemon } from '../reach-daemon.ts';

export const workspaceRemove: CommandDefinition = {
  name: 'workspace remove',
  group: 'Agents',
  summary: 'Let no agent begin in a folder any more',
  details: 'Nothing in the folder is changed. Runs that are open there go on: palyra stop ends them.',
  arguments: [{ name: 'DIR', summary: 'The folder, or its id', isRequired: true }],
  async run({ arguments: [typed = ''] }, context) {
    return withDaemon(context, 'operator', async ({ client }) => {
      await client.workspaces.remove(typed);
      return { json: { removed: typed }, render: () => `${visibleText(typed)} is no workspace any more.\n` };
    });
  },
};
