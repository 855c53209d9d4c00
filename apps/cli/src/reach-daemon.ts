import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, ConnectOptions, LocalCredential } from '@palyra/client';
import { ensureHome, type HomeLayout, homeLayout } from '@palyra/config/home';
import { CliError } from './cli-error.ts';
import type { CommandContext } from './command.ts';
import { findHome } from './find-home.ts';
import { ensureDaemon, findRunning, loadDaemon } from './start-daemon.ts';

export interface Reached {
  readonly client: Client;
  readonly home: HomeLayout;
  /** The home was made by this very command: whoever did that is its operator. */
  readonly isNewHome: boolean;
}

/** As whom, and how long a connection that is lost is looked for. */
export type ReachAs = LocalCredential | { readonly as: LocalCredential; readonly giveUpAfterMs: number };

/**
 * For one command. The home is made and palyrad is started where there is none.
 * SECURITY: T-40 — `operator` only for what a person does: `exec`, `tool call` and everything an agent starts is `agent`.
 */
export async function withDaemon<Result>(
  context: CommandContext,
  as: ReachAs,
  act: (reached: Reached) => Promise<Result>,
): Promise<Result> {
  const boxed = listenerOf(context, typeof as === 'string' ? as : as.as);
  if (boxed !== undefined) return inBox(boxed, act);
  return connected(await startHere(context), as, act);
}

/** The same for what goes on after the command has answered: the connection ends with the lines. */
export async function* linesFromDaemon(
  context: CommandContext,
  as: LocalCredential,
  tell: (reached: Reached) => AsyncIterable<string>,
): AsyncGenerator<string> {
  listenerOf(context, as);
  const found = await startHere(context);
  const { connect } = await import('@palyra/client');
  using client = await connect({ home: found.home.root, as });
  yield* tell({ ...found, client });
}

async function startHere(context: CommandContext): Promise<Omit<Reached, 'client'>> {
  const { home } = findHome(context);
  const isNewHome = !existsSync(join(home.identity, 'local-agent'));
  if (isNewHome) await makeAndStart(home, context);
  else await ensureDaemon(home, { idleExit: true }, context);
  return { home, isNewHome };
}

/** Side by side: on a new machine nobody waits for the one and then for the other. */
async function makeAndStart(home: HomeLayout, context: CommandContext): Promise<void> {
  context.terminal?.progress('Making a home ...');
  ensureHome(home);
  const palyrad = loadDaemon(home, { idleExit: true }, context);
  try {
    // Late: nearly every command finds a home.
    const { makeHome } = await import('./make-home.ts');
    await makeHome(context);
  } catch (error) {
    palyrad.cancel();
    throw error;
  }
  context.terminal?.progress('Starting palyrad ...');
  await palyrad.begin();
}

/** The same for what makes no sense when palyrad does not run. Throws `cli.daemon_not_running`. */
export async function withRunningDaemon<Result>(
  context: CommandContext,
  as: LocalCredential,
  act: (reached: Reached) => Promise<Result>,
): Promise<Result> {
  const boxed = listenerOf(context, as);
  if (boxed !== undefined) return inBox(boxed, act);
  const { home } = findHome(context);
  if ((await findRunning(home)) === undefined) {
    throw new CliError('cli.daemon_not_running', `palyrad does not run on ${home.root}.`, {
      fix: 'Start it with `palyra up`, or name another home with --home DIR.',
    });
  }
  return connected({ home, isNewHome: false }, as, act);
}

/**
 * The same for what an agent's shell runs. Its own sandbox may be one from which palyrad's process cannot be seen, so nobody
 * looks for that: the connection tells, and palyrad proves itself on it. Throws `client.unreachable`.
 */
export function withListeningDaemon<Result>(
  context: CommandContext,
  as: LocalCredential,
  act: (reached: Reached) => Promise<Result>,
): Promise<Result> {
  const listener = listenerOf(context, as);
  if (listener !== undefined) return inBox(listener, act);
  return connected({ home: findHome(context).home, isNewHome: false }, as, act);
}

/**
 * In a box of `palyra wrap` there is no home: palyrad is behind the box's listener, as the agent that is in it.
 * Throws `cli.in_a_box` for what only a person does.
 */
function listenerOf({ variables }: CommandContext, as: LocalCredential): string | undefined {
  const listener = variables['PALYRA_LISTENER'];
  if (listener === undefined || listener === '') return undefined;
  if (as === 'agent') return listener;
  throw new CliError('cli.in_a_box', 'This is for people, and this is the box of an agent.', {
    fix: 'Do it at a terminal outside of palyra wrap.',
  });
}

async function inBox<Result>(listener: string, act: (reached: Reached) => Promise<Result>): Promise<Result> {
  const { connect } = await import('@palyra/client');
  using client = await connect({ listener });
  return await act({ client, home: homeLayout('/nonexistent'), isNewHome: false });
}

async function connected<Result>(
  found: Omit<Reached, 'client'>,
  as: ReachAs,
  act: (reached: Reached) => Promise<Result>,
): Promise<Result> {
  // Late: most commands need no palyrad.
  const { connect } = await import('@palyra/client');
  const how: ConnectOptions =
    typeof as === 'string' ? { as } : { as: as.as, reconnect: { giveUpAfterMs: as.giveUpAfterMs } };
  using client = await connect({ home: found.home.root, ...how });
  return await act({ ...found, client });
}
