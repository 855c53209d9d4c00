import {
  type Config,
  type LoadedConfig,
  loadConfig,
  redactDatabaseUrl,
  SETTINGS,
  type Setting,
  type SettingSource,
} from '@palyra/config';
import { reveal, Secret, visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { findHome } from '../find-home.ts';
import type { Paint } from '../render/paint.ts';
import { renderColumns } from '../render/table.ts';

/** Shows what is in force, and why: each setting with the place it comes from. */
export const configShow: CommandDefinition = {
  name: 'config show',
  group: 'Configuration',
  summary: 'Show every setting and where it comes from',
  async run(_input, context) {
    const { home, environment } = findHome(context);
    const loaded = loadConfig({ home, environment });
    const settings = SETTINGS.map((setting) => ({
      key: setting.key,
      value: shownValue(loaded.config, setting),
      source: loaded.sources.get(setting.key) ?? 'default',
    }));
    return {
      json: {
        home: home.root,
        file: { path: loaded.file.path, present: loaded.file.isPresent },
        settings: Object.fromEntries(settings.map(({ key, value, source }) => [key, { value, source }])),
        warnings: environment.warnings,
      },
      render: (paint) => renderSettings(loaded, settings, paint),
      warnings: environment.warnings,
    };
  },
};

interface ShownSetting {
  readonly key: string;
  readonly value: unknown;
  readonly source: SettingSource;
}

function shownValue(config: Config, setting: Setting): unknown {
  const section = config[setting.section as keyof Config] as Readonly<Record<string, unknown>>;
  const value = section[setting.name];
  // SECURITY: T-24 — an address is shown, its password is not.
  if (value instanceof Secret) return redactDatabaseUrl(String(reveal(value)));
  return value ?? setting.default;
}

function renderSettings({ file }: LoadedConfig, settings: readonly ShownSetting[], paint: Paint): string {
  const presence = file.isPresent ? '' : paint('faint', ' (not there: defaults)');
  const rows = settings.map(({ key, value, source }) => [key, source, visibleText(JSON.stringify(value))]);
  const [heading = '', ...lines] = renderColumns([['SETTING', 'SOURCE', 'VALUE'], ...rows]);
  const painted = lines.map((line, index) => (settings[index]?.source === 'default' ? paint('faint', line) : line));
  return [`File: ${visibleText(file.path)}${presence}`, '', paint('title', heading), ...painted, ''].join('\n');
}
