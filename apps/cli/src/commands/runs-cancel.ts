import type { CommandDefinition } from '../command.ts';
import { withRunningDaemon } from '../reach-daemon.ts';

export const runsCancel: CommandDefinition = {
  name: 'runs cancel',
  group: 'Agents',
  summary: 'Cancel one run and everything in it',
  arguments: [{ name: 'RUN', summary: 'Its id, or the last 4 characters or more', isRequired: true }],
  async run({ arguments: [id = ''] }, context) {
    return withRunningDaemon(context, 'operator', async ({ client }) => {
      const { run } = await client.runs.get(id);
      await client.runs.cancel(run.run_id);
      return {
        json: { run_id: run.run_id, state: 'ended' },
        render: () => `The run ${run.run_id.slice(-6)} is over.\n`,
      };
    });
  },
};
