import { parseArgs } from 'node:util';
import { DaemonError } from './daemon-error.ts';

export type DaemonArguments =
  | { readonly kind: 'run'; readonly home: string | undefined; readonly idleExit: boolean }
  | { readonly kind: 'version' }
  | { readonly kind: 'help' };

export const USAGE: string = `palyrad [--home DIR] [--idle-exit]

The daemon of Palyra. \`palyra up\` starts it, and the other commands start it on demand.

  --home DIR    the state directory; PALYRA_HOME or ~/.palyra unless given
  --idle-exit   end after daemon.idle_minutes in which nobody used it
  --version     print the version
`;

/** Throws `daemon.invalid_arguments`. */
export function readArguments(argv: readonly string[]): DaemonArguments {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        home: { type: 'string' },
        'idle-exit': { type: 'boolean', default: false },
        version: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return { kind: 'help' };
    if (values.version) return { kind: 'version' };
    return { kind: 'run', home: values.home, idleExit: values['idle-exit'] };
  } catch (cause) {
    throw new DaemonError('daemon.invalid_arguments', 'palyrad does not know one of its arguments.', {
      fix: 'palyrad --help shows those it takes.',
      cause,
    });
  }
}
