import { ensureHome, renderDefaultConfig, writeConfig } from '@palyra/config';
import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { findHome } from '../find-home.ts';

/** Writes a file to start from. It changes nothing: every setting in it is commented out. */
export const configInit: CommandDefinition = {
  name: 'config init',
  group: 'Configuration',
  summary: 'Write a palyra.toml with every default explained',
  details: 'Creates the home when it is missing. A file that is there already is never overwritten.',
  async run(_input, context) {
    const { home, environment } = findHome(context);
    ensureHome(home);
    writeConfig(home.configFile, renderDefaultConfig(), { mode: 'create' });
    return {
      json: { file: home.configFile, warnings: environment.warnings },
      render: () =>
        `Wrote ${visibleText(home.configFile)}. Every setting in it is commented out: edit what you need.\n`,
      warnings: environment.warnings,
    };
  },
};
