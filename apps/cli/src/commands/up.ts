import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { servicePrint } from '@palyra/config';
import { CliError } from '../cli-error.ts';
import type { CommandDefinition, CommandInput, CommandResult } from '../command.ts';
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
    'With --print-service: a systemd unit or a launchd plist in which palyrad has a user of its own and tools are the ' +
    'owner’s, with the commands that put it in place.',
  options: [
    { flags: '--print-service', summary: 'Only print what the system needs to start it' },
    { flags: '--user <NAME>', summary: 'Of the service: palyrad’s own user (palyra)' },
    { flags: '--owner <NAME>', summary: 'Of the service: whose workspaces; you unless told' },
    { flags: '--state <DIR>', summary: 'Of the service: its state (/var/lib/palyra)' },
  ],
  async run(input, context) {
    if (input.options['printService'] === true) return printed(input);
    const { home } = findHome(context);
    if (!existsSync(join(home.identity, 'local-agent'))) await makeHome(context);
    const { pid, address, started } = await ensureDaemon(home, { idleExit: false }, context);
    return {
      json: { pid, address, started, home: home.root },
      render: () => `palyrad ${started ? 'listens' : 'runs already and listens'} on ${address} (pid ${pid}).\n`,
    };
  },
};

function printed({ options }: CommandInput): CommandResult {
  const { platform } = process;
  if (platform !== 'linux' && platform !== 'darwin') {
    throw new CliError('cli.not_available', 'There is no service for this system yet.', { fix: 'Use palyra up.' });
  }
  const text = (name: string, otherwise: string) => {
    const typed = options[name];
    return typeof typed === 'string' ? typed : otherwise;
  };
  const service = servicePrint({
    platform,
    paths: {
      node: process.execPath,
      program: fileURLToPath(import.meta.resolve('@palyra/daemon/main')),
      state: text('state', '/var/lib/palyra'),
    },
    user: { daemon: text('user', 'palyra'), owner: text('owner', userInfo().username) },
  });
  const steps = service.commands.map((command) => `#   ${command}`).join('\n');
  return {
    json: service,
    render: () => `# ${service.path}\n# To put it in place, as root:\n${steps}\n\n${service.text.trimEnd()}\n`,
  };
}
