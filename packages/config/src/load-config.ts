import { checkHome } from './ensure-home.ts';
import type { Environment } from './environment.ts';
import type { HomeLayout } from './home-layout.ts';
import { parseConfig } from './parse-config.ts';
import { readConfigFile } from './read-config-file.ts';
import type { Config } from './schema.ts';
import { SETTINGS } from './settings.ts';

export type SettingSource = 'default' | 'file' | 'environment';

export interface LoadedConfig {
  readonly config: Config;
  readonly file: { readonly path: string; readonly isPresent: boolean };
  /** By key, `section.name`; every setting has one. */
  readonly sources: ReadonlyMap<string, SettingSource>;
}

export interface LoadConfigInput {
  readonly home: HomeLayout;
  readonly environment: Environment;
}

/** No file means all defaults. Anything wrong with the home, the file or its text throws `ConfigError`. */
export function loadConfig({ home, environment }: LoadConfigInput): LoadedConfig {
  checkHome(home);
  const file = readConfigFile(home.configFile);
  const { config, present } = parseConfig(file.kind === 'present' ? file.text : '', home.configFile);

  const sources = new Map<string, SettingSource>();
  for (const { key } of SETTINGS) sources.set(key, present.has(key) ? 'file' : 'default');

  const loaded = { file: { path: home.configFile, isPresent: file.kind === 'present' }, sources };
  if (environment.logLevel === undefined) return Object.freeze({ ...loaded, config });

  sources.set('log.level', 'environment');
  const log = Object.freeze({ ...config.log, level: environment.logLevel });
  return Object.freeze({ ...loaded, config: Object.freeze({ ...config, log }) });
}
