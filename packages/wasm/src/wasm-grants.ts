import type { GrantedPrefix } from './host/messages.ts';

/** Everything that a module may reach; what is not named is not there. */
export interface WasmGrants {
  /** The time: `now`, and the clocks of WASI. */
  readonly now: boolean;
  /** `random`, and that of WASI. */
  readonly random: boolean;
  /** Its own keys and values, apart for each principal. */
  readonly kv: boolean;
  /** Events on the run's stream. */
  readonly emit: boolean;
  /** `host:port` that `http_request` may go to; none: there is no such function. */
  readonly http: readonly string[];
  /** Names of secrets that `secret_use` adds to a request to the host they are bound to. */
  readonly secrets: readonly string[];
  /** Variables of a WASI program. */
  readonly environment: Readonly<Record<string, string>>;
  /** Its whole file system. */
  readonly prefixes: readonly GrantedPrefix[];
}

export const NO_GRANTS: WasmGrants = {
  now: false,
  random: false,
  kv: false,
  emit: false,
  http: [],
  secrets: [],
  environment: {},
  prefixes: [],
};

/** Names of our functions that are linked under these grants, beside those that always are. */
export function grantedFunctions({ now, random, kv, emit, http, secrets }: WasmGrants): readonly string[] {
  return [
    ...(now ? ['now'] : []),
    ...(random ? ['random'] : []),
    ...(kv ? ['kv_get', 'kv_put', 'kv_delete', 'kv_list'] : []),
    ...(emit ? ['emit'] : []),
    ...(http.length > 0 ? ['http_request'] : []),
    ...(secrets.length > 0 ? ['secret_use'] : []),
  ];
}

/** Every name that a grant can link. */
export const HOST_FUNCTIONS: readonly string[] = grantedFunctions({
  ...NO_GRANTS,
  now: true,
  random: true,
  kv: true,
  emit: true,
  http: ['*'],
  secrets: ['*'],
});
