import type { SandboxCommand } from './command.ts';
import { PROXY_PORT } from './launcher/wire.ts';
import type { SandboxProfile } from './profile.ts';

export interface OwnVariables {
  /** Win over the caller's. */
  readonly ours: Readonly<Record<string, string>>;
  /** Count where the caller says nothing. */
  readonly defaults: Readonly<Record<string, string>>;
}

/** `NAME=value`, sorted. What is ours wins, and of the caller's only what the profile names comes through. */
export function toolEnvironment(
  { environment = {}, terminal }: SandboxCommand,
  profile: Pick<SandboxProfile, 'environment'>,
  { ours, defaults }: OwnVariables,
): readonly string[] {
  // SECURITY: T-19 — an allowlist: tokens, agent sockets and proxies stay outside.
  const named = profile.environment.filter((name) => Object.hasOwn(environment, name));
  const theirs = Object.fromEntries(named.map((name) => [name, environment[name] ?? '']));
  const all = {
    LANG: 'C.UTF-8',
    ...defaults,
    ...(terminal === undefined ? {} : { TERM: terminal.name ?? 'xterm-256color' }),
    ...theirs,
    ...ours,
  };
  return Object.entries(all)
    .map(([name, value]) => `${name}=${value}`)
    .toSorted();
}

const PROXY = `http://127.0.0.1:${PROXY_PORT}`;
/** What runs in the box is reached as ever. Neither ranges nor brackets: some clients take them for names, and fail. */
const OWN_HOSTS = ['localhost', '127.0.0.1', '::1', '0.0.0.0', 'palyra'];

/**
 * How tools find the one way out of the box: curl, wget, git, pip, cargo, Go and Ruby by these names in one case or the other.
 *
 * `all_proxy` names the same HTTP proxy although SOCKS5 is spoken at the port as well: httpx, and what is built on it, reads it
 * before its first request and gives up over a scheme for which it lacks a package.
 */
export const PROXY_VARIABLES: Readonly<Record<string, string>> = inBothCases();

function inBothCases(): Readonly<Record<string, string>> {
  const named = { http_proxy: PROXY, https_proxy: PROXY, all_proxy: PROXY, no_proxy: OWN_HOSTS.join(',') };
  const upper = Object.fromEntries(Object.entries(named).map(([name, value]) => [name.toUpperCase(), value]));
  return {
    ...named,
    ...upper,
    // Node's fetch, http and https look at the variables above since it is told to; npm and Yarn have their own.
    NODE_USE_ENV_PROXY: '1',
    npm_config_proxy: PROXY,
    npm_config_https_proxy: PROXY,
    npm_config_noproxy: named.no_proxy,
    YARN_HTTP_PROXY: PROXY,
    YARN_HTTPS_PROXY: PROXY,
  };
}

/** What the caller may say otherwise. A denial stays one: it is tried once more, soon, and not for a minute. */
export const PROXY_DEFAULTS: Readonly<Record<string, string>> = {
  npm_config_fetch_retries: '1',
  npm_config_fetch_retry_mintimeout: '1000',
  PIP_RETRIES: '1',
  CARGO_NET_RETRY: '1',
  // No JVM looks at the other variables. Each says on stderr that it has picked this one up.
  JAVA_TOOL_OPTIONS: javaOptions(),
};

/** Where the box has the authority of its call: alone, and after those of the system. */
export const CALL_AUTHORITY = '/etc/palyra/call-authority.pem';
export const AUTHORITIES = '/etc/palyra/authorities.pem';

/**
 * For tools that do not read the system's bundle, or bring their own. The caller may say otherwise.
 * A JVM has a key store and no file: what is written in Java trusts the system alone.
 */
export const AUTHORITY_DEFAULTS: Readonly<Record<string, string>> = trustingByName();

function trustingByName(): Readonly<Record<string, string>> {
  const names = [
    'SSL_CERT_FILE',
    'CURL_CA_BUNDLE',
    'REQUESTS_CA_BUNDLE',
    'GIT_SSL_CAINFO',
    'PIP_CERT',
    'CARGO_HTTP_CAINFO',
    'AWS_CA_BUNDLE',
    'npm_config_cafile',
    'YARN_HTTPS_CA_FILE_PATH',
  ];
  return {
    ...Object.fromEntries(names.map((name) => [name, AUTHORITIES])),
    // These add to what they have.
    NODE_EXTRA_CA_CERTS: CALL_AUTHORITY,
    DENO_CERT: CALL_AUTHORITY,
  };
}

function javaOptions(): string {
  const schemes = ['http', 'https'].flatMap((scheme) => [
    `-D${scheme}.proxyHost=127.0.0.1`,
    `-D${scheme}.proxyPort=${PROXY_PORT}`,
  ]);
  return [...schemes, '-Dhttp.nonProxyHosts=localhost|127.*|[::1]|0.0.0.0|palyra'].join(' ');
}
