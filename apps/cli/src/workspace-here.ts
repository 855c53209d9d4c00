import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Run, StartRunOptions } from '@palyra/client';
import { visibleText } from '@palyra/primitives';
import { CliError } from './cli-error.ts';
import type { CommandContext } from './command.ts';
import type { Reached } from './reach-daemon.ts';

const UNKNOWN = new Set(['gateway.workspace_not_found']);

/**
 * A run in the workspace around a directory. The first use of a folder asks once: a person says yes here, or has made the
 * home with this very command. Throws `cli.workspace_unknown` where nobody can be asked.
 */
export async function startRunHere(
  reached: Reached,
  directory: string,
  context: CommandContext,
  options: Pick<StartRunOptions, 'surface'> = {},
): Promise<Run> {
  try {
    return await reached.client.startRun({ ...options, workspace: directory });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && UNKNOWN.has(String(error.code)))) throw error;
  }
  const root = projectAround(directory, context);
  if (!reached.isNewHome) await askToUse(root, context);
  await addAsOperator(root, reached);
  return reached.client.startRun({ ...options, workspace: directory });
}

/** The repository, if there is one around it below the user's home; else the directory itself. */
function projectAround(directory: string, context: CommandContext): string {
  const stop = homeOf(context);
  for (let at = directory; at !== dirname(at) && at !== stop; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at;
  }
  return directory;
}

function homeOf(context: CommandContext): string {
  try {
    return context.userHome();
  } catch {
    return '/';
  }
}

async function askToUse(root: string, context: CommandContext): Promise<void> {
  const shown = visibleText(root);
  const fix = `Register it yourself: palyra workspace add ${shown}`;
  if (context.terminal === undefined || context.asJson) {
    throw new CliError('cli.workspace_unknown', `${shown} is not a workspace of this home yet.`, { fix });
  }
  const answer = await context.terminal.ask(
    `${shown} is not a workspace yet. Agents could read and change everything in it.\nUse it? Type yes: `,
  );
  if (answer.trim().toLowerCase() === 'yes') return;
  throw new CliError('cli.workspace_unknown', `${shown} was not made a workspace.`, { fix });
}

/** SECURITY: T-41 — where agents may work is a person's word: this one was given at the keyboard, or made the home. */
async function addAsOperator(root: string, { home }: Reached): Promise<void> {
  const { connect } = await import('@palyra/client');
  using operator = await connect({ home: home.root, as: 'operator' });
  await operator.workspaces.add(root);
}
