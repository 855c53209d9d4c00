import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { resolvePath } from '../find-home.ts';
import { withDaemon } from '../reach-daemon.ts';

export const workspaceAdd: CommandDefinition = {
  name: 'workspace add',
  group: 'Agents',
  summary: 'Let agents work in a folder',
  details: 'Agents may then read and change everything in it. Too wide ones (/, a home, above this home) are refused.',
  arguments: [{ name: 'DIR', summary: 'The folder; here unless told', isRequired: false }],
  async run({ arguments: [typed = '.'] }, context) {
    const path = resolvePath(typed, context);
    return withDaemon(context, 'operator', async ({ client }) => {
      const { workspace, added } = await client.workspaces.add(path);
      const said = added ? 'is a workspace now' : 'was a workspace already';
      return { json: { ...workspace, added }, render: () => `${visibleText(workspace.root)} ${said}.\n` };
    });
  },
};
