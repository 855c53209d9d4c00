import { isAbsolute } from 'node:path';
import { ConfigError } from '../config-error.ts';
import { PALYRAD_FLAGS } from '../palyrad-flags.ts';

/** What a palyrad that is a service is told on its command line: by root, because nobody else may say it. */
export interface ServiceArguments {
  /** The account that palyrad runs as. */
  readonly daemon: string;
  /** The account that owns the workspaces, and that tools run as. */
  readonly owner: string;
  readonly state: string;
}

const FLAGS = { daemon: '--service-user', owner: '--for', state: '--state' } as const;

export function serviceArguments(service: ServiceArguments): readonly string[] {
  const { daemon, owner, state } = checked(service);
  return [FLAGS.daemon, daemon, FLAGS.owner, owner, FLAGS.state, state];
}

/** Undefined when nothing of a service is said. Throws `config.invalid_value` when it is said by half. */
export function parseServiceArguments(argv: readonly string[]): ServiceArguments | undefined {
  // SECURITY: T-42 — in both ways to write it: one that is not seen here leaves a palyrad that stays root.
  const valueAfter = (flag: string) => {
    const at = argv.findIndex((each) => each === flag || each.startsWith(`${flag}=`));
    if (at < 0) return undefined;
    return argv[at] === flag ? (argv[at + 1] ?? '') : argv[at]?.slice(flag.length + 1);
  };
  const [daemon, owner, state] = [valueAfter(FLAGS.daemon), valueAfter(FLAGS.owner), valueAfter(FLAGS.state)];
  if (daemon === undefined && owner === undefined && state === undefined) return undefined;
  return checked({ daemon: daemon ?? '', owner: owner ?? '', state: state ?? '' });
}

/** As useradd takes them: nothing that a unit, a plist or a shell would read as more than a name. */
const ACCOUNT = /^[a-z_][a-z0-9_.-]{0,31}$/i;

function checked(service: ServiceArguments): ServiceArguments {
  const { daemon, owner, state } = service;
  for (const [flag, name] of [
    [FLAGS.daemon, daemon],
    [FLAGS.owner, owner],
  ] as const) {
    if (!ACCOUNT.test(name)) throw invalid(`${flag} needs the name of an account.`);
  }
  // SECURITY: T-40 — with one user for both there is nothing between the agent and palyrad's keys.
  if (daemon === owner) throw invalid('palyrad and the owner of the workspaces have to be two users.');
  if (!isAbsolute(state)) throw invalid(`${FLAGS.state} needs an absolute path.`);
  return service;
}

function invalid(message: string): ConfigError {
  return new ConfigError('config.invalid_value', message, {
    fix: 'Say all of it: --service-user palyra --for ada --state /var/lib/palyra.',
  });
}

/** Of a checkout the sources run, and find each other by this; else they would take what was once compiled, or nothing. */
export function programArguments({ node, program }: { readonly node: string; readonly program: string }): string[] {
  const sources = program.endsWith('.ts') ? ['--conditions=palyra-source'] : [];
  return [node, ...PALYRAD_FLAGS, ...sources, program];
}
