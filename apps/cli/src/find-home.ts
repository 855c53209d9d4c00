import { isAbsolute, resolve } from 'node:path';
import { defaultHome, type Environment, type HomeLayout, homeLayout, readEnvironment } from '@palyra/config/home';
import { CliError } from './cli-error.ts';
import type { CommandContext } from './command.ts';

export interface Surroundings {
  readonly home: HomeLayout;
  readonly environment: Environment;
}

/** As much of the process as decides where the home is. */
export type HomeContext = Pick<CommandContext, 'home' | 'variables' | 'userHome' | 'workingDirectory'>;

/** `--home` wins over PALYRA_HOME, which wins over `~/.palyra`. Throws `ConfigError` or `CliError`. */
export function findHome(context: HomeContext): Surroundings {
  const environment = readEnvironment(context.variables);
  const chosen = context.home === undefined ? environment.home : resolvePath(context.home, context);
  return { home: homeLayout(chosen ?? defaultHome(userHome(context))), environment };
}

/** What a person typed, as an absolute path. Throws `cli.no_directory`. */
export function resolvePath(typed: string, context: HomeContext): string {
  if (isAbsolute(typed)) return resolve(typed);
  try {
    return resolve(context.workingDirectory(), typed);
  } catch (cause) {
    throw new CliError('cli.no_directory', 'The working directory is not there any more.', {
      fix: 'Change to another directory, or give an absolute path.',
      cause,
    });
  }
}

function userHome(context: HomeContext): string {
  try {
    return context.userHome();
  } catch (cause) {
    const fix = 'Give one with --home DIR or PALYRA_HOME.';
    throw new CliError('cli.no_directory', 'This user has no home directory to put ~/.palyra in.', { fix, cause });
  }
}
