import type { CommandDefinition } from '../command.ts';
import { withRunningDaemon } from '../reach-daemon.ts';

/** The red button. */
export const stop: CommandDefinition = {
  name: 'stop',
  group: 'Agents',
  summary: 'Stop agents: cancel all of their runs now',
  arguments: [{ name: 'AGENT', summary: 'Such as agent:local; all of them unless told', isRequired: false }],
  async run({ arguments: [agent] }, context) {
    return withRunningDaemon(context, 'operator', async ({ client }) => {
      const stopped = await client.runs.stopAgents(agent);
      const count = stopped.length === 1 ? '1 run was' : `${stopped.length} runs were`;
      return { json: { stopped }, render: () => `${count} cancelled.\n` };
    });
  },
};
