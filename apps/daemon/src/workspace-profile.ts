import { GatewayError, type ToolCallConfig } from '@palyra/gateway';
import { DEFAULT_LIMITS, type Limits, type SandboxProfile } from '@palyra/sandbox';
import { HOST_FUNCTIONS } from '@palyra/wasm';

/**
 * What commands of a workspace may do: everything in the box, nothing outside, unless the operator configured it otherwise.
 * SECURITY: T-20 — from the configuration that the signed snapshot shows: it must not say what nobody holds.
 */
export function workspaceProfile(
  workspace: string,
  { tier, egress, allowedHosts, limits }: ToolCallConfig['processRunner'],
): SandboxProfile {
  return {
    tier,
    workspace: { root: workspace, access: 'read-write' },
    readOnlyPaths: [],
    writablePaths: [],
    maskedPaths: [],
    executables: 'any',
    interpreters: 'allowed',
    egress: { mode: egress, hosts: allowedHosts },
    toolchains: 'operator',
    unixSockets: 'refused',
    limits: withConfigured(limits),
    mustHold: [],
    environment: [],
    startedFor: 'agent',
  };
}

/** By the names of the sandbox's limits, in their units. */
function withConfigured(limits: Readonly<Record<string, number>>): Limits {
  return { ...DEFAULT_LIMITS, ...limits };
}

/** Throws `gateway.invalid_config`: what is in the signed snapshot is held, or nothing starts. */
export function refuseUnheld({ processRunner, wasmRuntime }: ToolCallConfig): void {
  const strange = Object.keys(processRunner.limits).find((name) => !Object.hasOwn(DEFAULT_LIMITS, name));
  if (strange !== undefined) throw unheld(`There is no limit ${JSON.stringify(strange)}.`);
  if (processRunner.allowedHostSuffixes.length > 0) throw unheld('Suffixes of hosts cannot be allowed yet.');
  const unknown = wasmRuntime.hostFunctions.find((name) => !HOST_FUNCTIONS.includes(name));
  if (unknown !== undefined) throw unheld(`There is no host function ${JSON.stringify(unknown)}.`);
}

function unheld(sentence: string): GatewayError {
  return new GatewayError('gateway.invalid_config', sentence, {
    fix: `Leave it away. The limits are ${Object.keys(DEFAULT_LIMITS).join(', ')}.`,
  });
}
