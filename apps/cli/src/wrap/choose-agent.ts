import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { findWrapped, WRAP_PROFILES, wrappedBy } from '@palyra/agents';
import { CliError } from '../cli-error.ts';
import type { CommandContext } from '../command.ts';
import type { AttachOptions } from '../exec/attached-input.ts';
import type { CommandToRun } from '../exec/run-command.ts';

export interface AgentToWrap extends AttachOptions, Pick<CommandToRun, 'network' | 'egress' | 'unlisted'> {
  readonly profile: string;
  readonly title: string;
  /** The program by where it really is. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
}

export interface Choice {
  /** `--profile`. */
  readonly profile: unknown;
  readonly variables: CommandContext['variables'];
  readonly cwd: string;
}

/** Throws `cli.invalid_option` for a profile that there is not, `cli.not_found` for a program. */
export function chooseAgent(
  [program = '', ...rest]: readonly string[],
  { profile: asked, variables, cwd }: Choice,
): Pick<AgentToWrap, 'profile' | 'title' | 'argv'> {
  const agent = typeof asked === 'string' ? findWrapped(asked) : wrappedBy(program);
  if (agent === undefined) {
    throw new CliError('cli.invalid_option', 'There is no such profile.', {
      fix: `One of: ${WRAP_PROFILES.join(', ')}`,
    });
  }
  const { name, title } = agent.profile;
  return { profile: name, title, argv: [findProgram(program, { variables, cwd }), ...rest] };
}

/** On this terminal's PATH, as without us: the box's own PATH may not have it. */
function findProgram(program: string, { variables, cwd }: Pick<Choice, 'variables' | 'cwd'>): string {
  const places = program.includes('/')
    ? [resolve(cwd, program)]
    : (variables['PATH'] ?? '')
        .split(':')
        .filter(isAbsolute)
        .map((directory) => join(directory, program));
  const found = places.find(isProgram);
  if (found !== undefined) return realpathSync(found);
  throw new CliError('cli.not_found', `There is no program ${JSON.stringify(program)}.`, {
    fix: 'Install it, or give its path.',
  });
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
