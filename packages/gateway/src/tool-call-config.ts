import { createHash } from 'node:crypto';
import type { EgressSnapshot, ToolCallPolicySnapshot } from '@palyra/journal';
import type { PolicySet } from '@palyra/policy';
import { DEFAULT_WASM_LIMITS } from '@palyra/wasm';
import type { OperatorNetwork } from './connections/operator-network.ts';

/** What the operator configured for tool calls; the ToolCallConfig of the seeds. */
export interface ToolCallConfig {
  /** Names, or prefixes that end in `.*`; `*` is everything. */
  readonly allowedTools: readonly string[];
  readonly maxCallsPerRun: number;
  readonly executionTimeoutMs: number;
  readonly processRunner: {
    readonly enabled: boolean;
    /** Of a `palyra.process.run` that does not say; policy decides about it as if it had. */
    readonly tier: 'B' | 'C';
    readonly egress: 'none' | 'preflight' | 'strict';
    /** `host:port`. */
    readonly allowedHosts: readonly string[];
    /** `.suffix:port`: every host below it. */
    readonly allowedHostSuffixes: readonly string[];
    readonly limits: Readonly<Record<string, number>>;
  };
  readonly wasmRuntime: {
    readonly enabled: boolean;
    readonly fuelBudget: number;
    readonly memoryBytes: number;
    readonly tableElements: number;
    /** Host processes at once, and so guests. */
    readonly instances: number;
    /** What modules may be granted. */
    readonly hostFunctions: readonly string[];
    readonly moduleBytes: number;
    readonly wallMs: number;
    readonly outputBytes: number;
    readonly hostCalls: number;
  };
}

export const DEFAULT_TOOL_CALL_CONFIG: ToolCallConfig = {
  allowedTools: ['*'],
  maxCallsPerRun: 2000,
  executionTimeoutMs: 10 * 60_000,
  processRunner: {
    enabled: true,
    tier: 'C',
    egress: 'strict',
    allowedHosts: [],
    allowedHostSuffixes: [],
    limits: {},
  },
  wasmRuntime: {
    enabled: true,
    fuelBudget: DEFAULT_WASM_LIMITS.fuel,
    memoryBytes: DEFAULT_WASM_LIMITS.memoryPages * 65_536,
    tableElements: DEFAULT_WASM_LIMITS.tableElements,
    instances: 4,
    hostFunctions: ['emit', 'http_request', 'kv_delete', 'kv_get', 'kv_list', 'kv_put', 'now', 'random', 'secret_use'],
    moduleBytes: DEFAULT_WASM_LIMITS.moduleBytes,
    wallMs: DEFAULT_WASM_LIMITS.wallMs,
    outputBytes: DEFAULT_WASM_LIMITS.outputBytes,
    hostCalls: DEFAULT_WASM_LIMITS.hostCalls,
  },
};

export function isAllowedTool({ allowedTools }: Pick<ToolCallConfig, 'allowedTools'>, name: string): boolean {
  return allowedTools.some(
    (allowed) =>
      allowed === '*' || allowed === name || (allowed.endsWith('.*') && name.startsWith(allowed.slice(0, -1))),
  );
}

export interface SnapshotOfRun {
  readonly config: ToolCallConfig;
  /** The tools that there are and that the configuration allows: patterns say nothing without the catalogue. */
  allowedNames(): readonly string[];
  /** Absent: nothing leads out. */
  readonly network?: OperatorNetwork | undefined;
}

/** Everything that decides what a call may do, as it is at this moment. */
export function snapshotOf(
  { config: { processRunner, wasmRuntime, ...config }, allowedNames, network }: SnapshotOfRun,
  { digest, preset }: Pick<PolicySet, 'digest' | 'preset'>,
): ToolCallPolicySnapshot {
  return {
    format: 'palyra.policy-snapshot/1',
    policy_set_sha256: digest,
    preset,
    allowed_tools: set(allowedNames()),
    max_calls_per_run: config.maxCallsPerRun,
    execution_timeout_ms: config.executionTimeoutMs,
    process_runner: {
      enabled: processRunner.enabled,
      tier: processRunner.tier,
      egress_enforcement_mode: processRunner.egress,
      allowed_egress_hosts: set(processRunner.allowedHosts),
      allowed_egress_host_suffixes: set(processRunner.allowedHostSuffixes),
      limits: asWritten(processRunner.limits),
    },
    wasm_runtime: {
      enabled: wasmRuntime.enabled,
      fuel_budget: wasmRuntime.fuelBudget,
      memory_bytes: wasmRuntime.memoryBytes,
      table_elements: wasmRuntime.tableElements,
      instances: wasmRuntime.instances,
      module_bytes: wasmRuntime.moduleBytes,
      wall_ms: wasmRuntime.wallMs,
      output_bytes: wasmRuntime.outputBytes,
      host_calls: wasmRuntime.hostCalls,
      host_functions: set(wasmRuntime.hostFunctions),
    },
    skills: [],
    ...(network === undefined ? {} : { egress: egressOf(network) }),
  };
}

/** Certificates by their digest: they are long, and public. */
function egressOf({ pinned, authorities, ...network }: OperatorNetwork): EgressSnapshot {
  const pinnedHosts = Object.entries(pinned).flatMap(([name, addresses]) =>
    addresses.map((address) => `${name}=${address}`),
  );
  return {
    unlisted: network.unlisted,
    private_ranges: set(network.privateRanges),
    registry_hosts: set(network.registryHosts),
    pinned_hosts: set(pinnedHosts),
    authorities_sha256: set(authorities.map((pem) => createHash('sha256').update(pem).digest('hex'))),
    limits: asWritten({ ...network.limits }),
  };
}

function asWritten(limits: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const written = Object.entries(limits).map(([name, most]) => [writtenName(name), most]);
  return Object.fromEntries(written) as Record<string, number>;
}

/** `memoryBytes` is `memory_bytes` in palyra.toml and in the record. */
export function writtenName(limit: string): string {
  return limit.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function set(names: readonly string[]): readonly string[] {
  return [...new Set(names)].toSorted();
}
