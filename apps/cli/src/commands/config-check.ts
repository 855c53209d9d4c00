import { ConfigError, checkHome, decodeConfig, type HomeLayout, parseConfig, readConfigFile } from '@palyra/config';
import { visibleText } from '@palyra/primitives';
import type { CommandContext, CommandDefinition } from '../command.ts';
import { findHome, resolvePath } from '../find-home.ts';
import { readStdin } from '../read-stdin.ts';

/** Says whether Palyra would accept a file; the answer is the exit code. */
export const configCheck: CommandDefinition = {
  name: 'config check',
  group: 'Configuration',
  summary: 'Check palyra.toml, or another file',
  details:
    'Reports every problem with its line and column. Exits with 0 when the file would be accepted and with 2 when it ' +
    'would not, also because other users could change it.',
  arguments: [
    {
      name: 'FILE',
      summary: 'The file to check instead of the one in the home; - is standard input',
      isRequired: false,
    },
  ],
  async run({ arguments: [file] }, context) {
    const { home, environment } = findHome(context);
    const { path, present } = await check(file, home, context);
    return {
      json: { valid: true, file: path, present, warnings: environment.warnings },
      render: () => `${visibleText(path)} ${present ? 'is valid' : 'is not there: the defaults apply'}.\n`,
      warnings: environment.warnings,
    };
  },
};

interface Checked {
  readonly path: string;
  readonly present: boolean;
}

async function check(file: string | undefined, home: HomeLayout, context: CommandContext): Promise<Checked> {
  if (file === '-') {
    parseConfig(decodeConfig(await readStdin(context), 'stdin'), 'stdin');
    return { path: 'stdin', present: true };
  }
  if (file === undefined) checkHome(home);
  const path = file === undefined ? home.configFile : resolvePath(file, context);
  const found = readConfigFile(path);
  if (found.kind === 'present') parseConfig(found.text, path);
  else if (file !== undefined) {
    throw new ConfigError('config.unreadable', `${visibleText(path)} is not there.`, { fix: 'Check the path.' });
  }
  return { path, present: found.kind === 'present' };
}
