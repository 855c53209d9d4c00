import {
  decodeConfig,
  ensureHome,
  findSetting,
  nearestName,
  readConfigFile,
  SETTINGS,
  type Setting,
  type SettingValue,
  setConfigValue,
  writeConfig,
} from '@palyra/config';
import { visibleText } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandDefinition } from '../command.ts';
import { findHome } from '../find-home.ts';
import { readStdin } from '../read-stdin.ts';

/** Changes one setting and nothing else: comments and the order of the file stay as they were. */
export const configSet: CommandDefinition = {
  name: 'config set',
  group: 'Configuration',
  summary: 'Change one setting in palyra.toml',
  details: 'Every other byte of the file stays as it was. The value is checked first; a wrong one changes nothing.',
  arguments: [
    { name: 'KEY', summary: 'A setting, such as log.level: see palyra config show', isRequired: true },
    { name: 'VALUE', summary: 'Its value; - reads it from standard input', isRequired: true },
  ],
  async run({ arguments: [key = '', value = ''] }, context) {
    const { home, environment } = findHome(context);
    const setting = findSetting(key) ?? unknownSetting(key);
    if (value !== '-') refuseSecret(setting, value);
    const given = value === '-' ? decodeConfig(await readStdin(context), 'stdin').trimEnd() : value;

    ensureHome(home);
    const found = readConfigFile(home.configFile);
    const text = setConfigValue(found.kind === 'present' ? found.text : '', key, typed(setting, given));
    writeConfig(home.configFile, text, { mode: found.kind === 'present' ? 'replace' : 'create' });
    return {
      json: { file: home.configFile, key, changed: true, warnings: environment.warnings },
      render: () => `Set ${key} in ${visibleText(home.configFile)}.\n`,
      warnings: environment.warnings,
    };
  },
};

function unknownSetting(key: string): never {
  const keys = SETTINGS.map((setting) => setting.key);
  const nearest = nearestName(key, keys);
  throw new CliError('cli.invalid_option', `There is no setting ${visibleText(JSON.stringify(key))}.`, {
    fix: nearest === undefined ? `The settings are ${keys.join(', ')}.` : `Did you mean ${nearest}?`,
  });
}

function refuseSecret(setting: Setting, value: string): void {
  // SECURITY: T-24 — an argument is in the process list and in the shell's history.
  if (!setting.isSecret || value === '') return;
  throw new CliError(
    'cli.secret_in_arguments',
    `${setting.key} may hold a password and is not taken from the command line.`,
    {
      fix: `Give it on standard input: palyra config set ${setting.key} - < FILE`,
    },
  );
}

/** The command line knows only text; what does not look like the setting's type is left to the schema to refuse. */
function typed(setting: Setting, text: string): SettingValue {
  if (typeof setting.default === 'number' && /^-?\d+$/.test(text)) return Number(text);
  if (typeof setting.default === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true';
  return text;
}
