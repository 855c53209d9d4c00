import { parseArgs } from 'node:util';
import { parseServiceArguments, type ServiceArguments } from '@palyra/config';
import { DaemonError } from './daemon-error.ts';

export type DaemonArguments =
  | {
      readonly kind: 'run';
      readonly home: string | undefined;
      readonly idleExit: boolean;
      /** Loads, and begins when its standard input ends: the home may be made meanwhile. */
      readonly waits: boolean;
      /** With a user of its own, for somebody's workspaces. */
      readonly service: ServiceArguments | undefined;
    }
  | { readonly kind: 'version' }
  | { readonly kind: 'help' };

export const USAGE: string = `palyrad [--home DIR] [--idle-exit] [--wait]
palyrad --service-user NAME --for NAME --state DIR

The daemon of Palyra. \`palyra up\` starts it, and the other commands start it on demand.

  --home DIR    the state directory; PALYRA_HOME or ~/.palyra unless given
  --idle-exit   end after daemon.idle_minutes in which nobody used it
  --wait        load, and begin when standard input ends
  --version     print the version

  --service-user NAME, --for NAME, --state DIR
                as root: with a user of its own, for the workspaces of another, with its state there
`;

/** Throws `daemon.invalid_arguments`, and `config.invalid_value` for a service that is named by half. */
export function readArguments(argv: readonly string[]): DaemonArguments {
  const asked = parse(argv);
  if (asked.kind !== 'run') return asked;
  const service = parseServiceArguments(argv);
  if (service === undefined || asked.home === undefined) return { ...asked, service };
  throw new DaemonError('daemon.invalid_arguments', 'The home of a service is in its state.', {
    fix: 'Leave --home away.',
  });
}

function parse(argv: readonly string[]): DaemonArguments {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        home: { type: 'string' },
        'idle-exit': { type: 'boolean', default: false },
        wait: { type: 'boolean', default: false },
        'service-user': { type: 'string' },
        for: { type: 'string' },
        state: { type: 'string' },
        version: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return { kind: 'help' };
    if (values.version) return { kind: 'version' };
    const { home, wait: waits, 'idle-exit': idleExit } = values;
    return { kind: 'run', home, idleExit, waits, service: undefined };
  } catch (cause) {
    throw new DaemonError('daemon.invalid_arguments', 'palyrad does not know one of its arguments.', {
      fix: 'palyrad --help shows those it takes.',
      cause,
    });
  }
}
