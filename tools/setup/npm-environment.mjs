/** How npm reaches its registry, its cache and its logs, and what may only make it stricter. */
const KEPT = new Set([
  '_auth',
  'before',
  'ca',
  'cache',
  'cafile',
  'cert',
  'fetch_timeout',
  'globalconfig',
  'http_proxy',
  'https_proxy',
  'key',
  'local_address',
  'loglevel',
  'logs_dir',
  'logs_max',
  'maxsockets',
  'min_release_age',
  'noproxy',
  'offline',
  'prefer_offline',
  'prefer_online',
  'proxy',
  'registry',
  'replace_registry_host',
  'strict_ssl',
  'user_agent',
  'userconfig',
]);

/** The same from a `.npmrc`: npm puts options before every file and variable. */
export const WHOLE_TREE = [
  '--include=dev',
  '--include=optional',
  '--include=peer',
  '--no-dry-run',
  '--no-global',
  '--no-package-lock-only',
  '--package-lock',
];

/**
 * A caller's environment without what makes npm install less than the lockfile names, elsewhere, or for another machine
 * (`NODE_ENV=production`, `npm_config_omit`, `npm_config_dry_run`, …). A list of what stays, because npm keeps adding
 * such settings, and each has its older names.
 * @param {NodeJS.ProcessEnv} env
 * @returns {NodeJS.ProcessEnv}
 */
export function npmEnvironment(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => name !== 'NODE_ENV' && staysInEnvironment(name)));
}

/** @param {string} name */
function staysInEnvironment(name) {
  const setting = /^npm_config_(.*)$/i.exec(name)?.[1];
  if (setting === undefined) return true;
  // A registry of one scope (`@acme:registry`), or what one registry is logged in with (`//host/:_authToken`).
  if (/^@.*:registry$/i.test(setting) || setting.startsWith('//')) return true;
  return KEPT.has(setting.toLowerCase().replaceAll('-', '_'));
}
