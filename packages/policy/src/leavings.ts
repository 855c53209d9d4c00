import type { Capability, EnforcedFacts, Leaving } from './request.ts';

/** Derived from the plan alone, so that no argument can talk a call back into the box. */
export function leavingsOf(enforced: EnforcedFacts, capabilities: readonly Capability[]): readonly Leaving[] {
  const known = new Set([...enforced.registryHosts, ...enforced.clientHosts]);
  const runsCode = capabilities.includes('process_exec');
  // An agent's own tool fetches the page that its program was told to fetch: nothing of ours holds it to that, and still the
  // model cannot choose another one. That it is asked about as a host says as much as is known.
  const isToldFetch = enforced.tier === 'client' && enforced.egress === 'preflight' && enforced.hosts.length > 0;
  const holds: Readonly<Record<Leaving, boolean>> = {
    host: enforced.hosts.some((host) => !known.has(host)),
    registry: enforced.registryHosts.length > 0,
    client_host: enforced.clientHosts.length > 0,
    // Our own code keeps to what it was given; everything else can connect wherever the plan lets it.
    open_network:
      enforced.egress !== 'strict' &&
      (!isToldFetch || runsCode) &&
      (enforced.tier !== 'built_in' || runsCode || capabilities.includes('network')),
    secret: enforced.secrets.length > 0,
    upstream: enforced.upstream !== undefined,
    protected_file: enforced.protectedPaths.length > 0,
    secret_file: enforced.secretFiles.length > 0,
    outside_path: enforced.outsidePaths.length > 0,
    limits_only: enforced.tier === 'B',
    // SECURITY: T-49 — code that an agent's own tool runs is held by nothing, whatever its arguments say.
    unboxed: enforced.tier === 'none' || (['built_in', 'client'].includes(enforced.tier) && runsCode),
  };
  return (Object.keys(holds) as Leaving[]).filter((leaving) => holds[leaving]);
}
