import { expect, it } from 'vitest';
import { npmEnvironment } from './npm-environment.mjs';

it('drops what makes npm install less than the lockfile names, under every spelling', () => {
  const hostile = {
    NODE_ENV: 'production',
    npm_config_omit: 'dev',
    NPM_CONFIG_OMIT: 'optional',
    'npm_config_dry-run': 'true',
    npm_config_dry_run: 'true',
    npm_config_include: 'prod',
    npm_config_only: 'prod',
    npm_config_production: 'true',
    npm_config_global: 'true',
    npm_config_location: 'global',
    npm_config_package_lock_only: 'true',
    npm_config_os: 'win32',
    npm_config_workspace: 'apps/cli',
  };
  expect(npmEnvironment(hostile)).toEqual({});
});

it('keeps how the registry is reached, and everything that is not npm’s', () => {
  const kept = {
    PATH: '/bin',
    HTTPS_PROXY: 'http://proxy',
    npm_execpath: '/npm.js',
    npm_config_registry: 'https://registry.example',
    'npm_config_@acme:registry': 'https://acme.example',
    'npm_config_//acme.example/:_authToken': 'secret',
    NPM_CONFIG_CACHE: '/cache',
    'npm_config_https-proxy': 'http://proxy',
    npm_config_userconfig: '/home/me/.npmrc',
    npm_config_min_release_age: '7',
  };
  expect(npmEnvironment(kept)).toEqual(kept);
});
