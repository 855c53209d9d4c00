import { GatewayError, type ToolCallConfig } from '@palyra/gateway';
import { DEFAULT_LIMITS, type Limits, type SandboxProfile } from '@palyra/sandbox';
import { HOST_FUNCTIONS } from '@palyra/wasm';
import { namedHosts } from './process-hosts.ts';

type ProcessRunner = ToolCallConfig['processRunner'];

/**
 * What everything in the box of a workspace may do: all in it, nothing outside. File tools and agents have it as it is.
 * SECURITY: T-20 — from the configuration that the signed snapshot shows: it must not say what nobody holds.
 */
export function workspaceProfile(workspace: string, { limits }: Pick<ProcessRunner, 'limits'>): SandboxProfile {
  return {
    tier: 'C',
    workspace: { root: workspace, access: 'read-write' },
    readOnlyPaths: [],
    writablePaths: [],
    maskedPaths: [],
    executables: 'any',
    interpreters: 'allowed',
    egress: { mode: 'strict', hosts: [] },
    toolchains: 'operator',
    unixSockets: 'refused',
    limits: withConfigured(limits),
    mustHold: [],
    environment: [],
    startedFor: 'agent',
  };
}

/** The same of a command whose call says nothing, as the operator configured it; policy decides about what comes out. */
export function commandProfile(workspace: string, runner: ProcessRunner): SandboxProfile {
  const { tier, egress } = runner;
  return { ...workspaceProfile(workspace, runner), tier, egress: { mode: egress, hosts: namedHosts(runner) } };
}

/** By the names of the sandbox's limits, in their units. */
function withConfigured(limits: Readonly<Record<string, number>>): Limits {
  return { ...DEFAULT_LIMITS, ...limits };
}

/** Throws `gateway.invalid_config`: what is in the signed snapshot is held, or nothing starts. */
export function refuseUnheld({ processRunner, wasmRuntime }: ToolCallConfig): void {
  const strange = Object.keys(processRunner.limits).find((name) => !Object.hasOwn(DEFAULT_LIMITS, name));
  if (strange !== undefined) throw unheld(`There is no limit ${JSON.stringify(strange)}.`, ONLY_LIMITS);
  refuseNetwork(processRunner);
  const unknown = wasmRuntime.hostFunctions.find((name) => !HOST_FUNCTIONS.includes(name));
  if (unknown !== undefined) throw unheld(`There is no host function ${JSON.stringify(unknown)}.`, ONLY_FUNCTIONS);
}

/** SECURITY: T-20 — every command would be refused, or a list be believed that nobody looks at: said at the start instead. */
function refuseNetwork(runner: ProcessRunner): void {
  if (runner.tier === 'B' && runner.egress === 'strict') {
    throw unheld(
      'process_runner: nothing holds a command of Tier B to its hosts, so its egress cannot be "strict".',
      'Say egress = "preflight" or "none" beside tier = "B", or leave the tier away.',
    );
  }
  if (runner.egress === 'none' && namedHosts(runner).length > 0) {
    throw unheld(
      'process_runner: the open network (egress = "none") has no list of hosts.',
      'Take hosts away, or say egress = "strict".',
    );
  }
}

const ONLY_LIMITS = `Leave it away. The limits are ${Object.keys(DEFAULT_LIMITS).join(', ')}.`;
const ONLY_FUNCTIONS = `Leave it away. The functions are ${HOST_FUNCTIONS.join(', ')}.`;

function unheld(sentence: string, fix: string): GatewayError {
  return new GatewayError('gateway.invalid_config', sentence, { fix });
}
