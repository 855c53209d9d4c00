import { type HomeLayout, homeLayout, type ServiceArguments, serviceLayout } from '@palyra/config';
import type { Logger } from '@palyra/primitives';
import {
  type Account,
  becomeUser,
  findAccount,
  type HostUser,
  identityOf,
  type OperatorPlaces,
  type Sandbox,
  type SandboxError,
  type SandboxOptions,
  startSandboxHost,
} from '@palyra/sandbox';
import { layOutState } from './lay-out-state.ts';
import { ServiceError } from './service-error.ts';

export interface ServiceOptions extends ServiceArguments {
  /** Where tools are looked for. */
  readonly path: string;
  readonly logger: Pick<Logger, 'error'>;
  /** As `SandboxOptions` has them. */
  readonly pool?: SandboxOptions['pool'];
  /** Instead of /etc/passwd. */
  readonly accountOf?: (name: string) => Account | undefined;
}

/** What `composeDaemon` is given then. */
export interface Service {
  readonly home: HomeLayout;
  readonly operator: OperatorPlaces;
  readonly sandbox: Sandbox;
  /** Resolves when no tool can be started any more: palyrad has to end, for it cannot be root again. */
  readonly lost: Promise<SandboxError>;
}

/**
 * From root to palyrad's own user, for good: accounts, directories, the process that starts tools, and then no root any more.
 * To be called first, before anything is opened or read. Throws `ServiceError` and `SandboxError`; after a fault the process
 * has to end.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  if (process.geteuid?.() !== 0) {
    const fix =
      'Let systemd start it (`palyra up --print-service`), or leave --service-user away: then it is yours alone.';
    throw new ServiceError('service.not_root', 'Only root can start palyrad as a service.', { fix });
  }
  const { daemon, owner } = accountsOf(options);
  const layout = serviceLayout(options.state);
  const toolUser = toolUserOf(owner);
  layOutState(layout, { daemon, owner: toolUser });
  const operator: OperatorPlaces = {
    path: options.path,
    home: owner.home,
    // Everything of the service, and not only its home: no tool sees any of it.
    palyraHome: layout.state,
    environment: {},
  };
  const { logger, pool } = options;
  const started = {
    operator,
    keptDirectory: layout.kept,
    owner: toolUser,
    logger,
    ...(pool === undefined ? {} : { pool }),
  };
  const { sandbox, lost } = await startSandboxHost(started);
  becomeUser(daemon);
  return { home: homeLayout(layout.home), operator, sandbox, lost };
}

function accountsOf({ daemon, owner, accountOf = findAccount }: ServiceOptions) {
  const accounts = { daemon: accountOf(daemon), owner: accountOf(owner) };
  for (const [name, account] of [
    [daemon, accounts.daemon],
    [owner, accounts.owner],
  ] as const) {
    if (account === undefined) {
      throw new ServiceError('service.unknown_user', `There is no account ${name} on this machine.`, {
        fix: 'Make it (useradd --system), or name another one. It has to be in /etc/passwd.',
      });
    }
  }
  const [one, other] = [accounts.daemon as Account, accounts.owner as Account];
  // SECURITY: T-40 — two names of one uid are one user to the kernel.
  if (one.uid === 0 || one.gid === 0 || other.uid === 0 || one.uid === other.uid) {
    throw new ServiceError(
      'service.unsafe_user',
      'palyrad and the owner of the workspaces have to be two users, and not root.',
      {
        fix: 'Make an account for palyrad alone: useradd --system palyra.',
      },
    );
  }
  return { daemon: one, owner: other };
}

/** As every tool of this owner gets it: not with a group that means power. */
function toolUserOf(owner: Account): HostUser {
  const choice = identityOf(owner);
  if (choice.kind === 'owner') return { uid: choice.uid, gid: choice.gid };
  const fix = choice.kind === 'refused' ? choice.fix : 'Name an ordinary user.';
  throw new ServiceError('service.unsafe_user', `Tools cannot run as ${owner.name}.`, { fix });
}
