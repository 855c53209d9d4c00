import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandDefinition } from '../command.ts';
import { findHome } from '../find-home.ts';
import { makeHome } from '../make-home.ts';
import { ensureDaemon } from '../start-daemon.ts';

/** palyrad, to stay. */
export const up: CommandDefinition = {
  name: 'up',
  group: 'Daemon',
  summary: 'Start palyrad, to stay until it is told to end',
  details:
    'Most commands start palyrad by themselves, and then it ends when nobody has needed it for a while. This one stays. ' +
    'With --print-service: a systemd unit or a launchd plist, to be put where the system looks for them.',
  async run(_input, context) {
    const { home } = findHome(context);
    if (!existsSync(join(home.identity, 'local-agent'))) await makeHome(context);
    const { pid, address, started } = await ensureDaemon(home, { idleExit: false }, context);
    return {
      json: { pid, address, started, home: home.root },
      render: () => `palyrad ${started ? 'listens' : 'runs already and listens'} on ${address} (pid ${pid}).\n`,
    };
  },
};
