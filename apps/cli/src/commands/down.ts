import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandDefinition } from '../command.ts';
import { findHome } from '../find-home.ts';
import { withRunningDaemon } from '../reach-daemon.ts';
import { findRunning } from '../start-daemon.ts';

const LOOK_EVERY_MS = 50;

/** It ends by itself and says so: nothing is killed. */
export const down: CommandDefinition = {
  name: 'down',
  group: 'Daemon',
  summary: 'End palyrad; what runs may end first',
  options: [{ flags: '--now', summary: 'Cancel what runs instead of waiting for it' }],
  async run({ options }, context) {
    const { home } = findHome(context);
    if ((await findRunning(home)) === undefined) {
      return { json: { stopped: false }, render: () => 'palyrad does not run.\n' };
    }
    await withRunningDaemon(context, 'operator', ({ client }) =>
      client.shutdown(options['now'] === true ? 'now' : 'gracefully'),
    );
    context.terminal?.progress('palyrad is ending ...');
    while ((await findRunning(home)) !== undefined && !context.signal.aborted) await sleep(LOOK_EVERY_MS);
    return { json: { stopped: true }, render: () => 'palyrad has ended.\n' };
  },
};
