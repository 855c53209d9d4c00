export {
  CONFIG_ERRORS,
  ConfigError,
  type ConfigErrorCode,
  type ConfigErrorOptions,
  type ConfigProblem,
} from './config-error.ts';
export { redactDatabaseUrl } from './database-url.ts';
export { checkHome, ensureHome } from './ensure-home.ts';
export { type Environment, type EnvironmentVariables, readEnvironment } from './environment.ts';
export { defaultHome, type HomeLayout, homeLayout } from './home-layout.ts';
export { type LoadConfigInput, type LoadedConfig, loadConfig, type SettingSource } from './load-config.ts';
export { LOG_LEVELS, type LogThreshold } from './log-levels.ts';
export {
  addModule,
  listModules,
  type NewModule,
  readModule,
  removeModule,
  type StoredFile,
  type StoredModule,
} from './modules/module-files.ts';
export { MODULE_LIMITS, type ModuleLimitName, type ModuleManifest } from './modules/module-manifest.ts';
export { nearestName } from './nearest-name.ts';
export { PALYRAD_FLAGS } from './palyrad-flags.ts';
export { type ParsedConfig, parseConfig } from './parse-config.ts';
export { type ConfigFile, decodeConfig, readConfigFile } from './read-config-file.ts';
export { renderDefaultConfig } from './render-config.ts';
export type { Config, PolicyPreset } from './schema.ts';
export {
  parseServiceArguments,
  type ServiceArguments,
  serviceArguments,
} from './service/service-arguments.ts';
export { type ServiceLayout, serviceLayout } from './service/service-layout.ts';
export { type ServicePrint, type ServiceQuestion, servicePrint } from './service/service-print.ts';
export { setConfigValue } from './set-config-value.ts';
export { findSetting, SECTIONS, SETTINGS, type Section, type Setting, type SettingValue } from './settings.ts';
export { namesIn } from './wasm-settings.ts';
export { type WriteConfigOptions, writeConfig } from './write-config.ts';
