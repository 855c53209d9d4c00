import { canonicalJson, type JsonObject, sha256OfJson } from '@palyra/primitives';
import { BOUND_TO_NOTHING, type ExecutionFacts, type ToolMetadata, type ToolPlan } from '../catalog/tool.ts';

const EXECUTOR = 'built_in';
const PROFILE = sha256OfJson({ tier: EXECUTOR });

/** A call that reaches for nothing; each tool adds what its own plan opens. */
export const REACHES_NOTHING: ToolPlan['enforced'] = {
  tier: 'built_in',
  egress: 'strict',
  readRoots: [],
  writeRoots: [],
  hosts: [],
  registryHosts: [],
  clientHosts: [],
  privateHosts: [],
  secrets: [],
  outsidePaths: [],
  protectedPaths: [],
  secretFiles: [],
  neverPaths: [],
  neverSockets: [],
};

/** Of a tool that is a few lines in the daemon itself. */
export function builtInPlan({ name, capabilities }: ToolMetadata, input: JsonObject, wallMs: number): ToolPlan {
  return {
    kind: 'planned',
    arguments: input,
    capabilities,
    enforced: REACHES_NOTHING,
    declared: { arguments: [], hosts: [], paths: [] },
    bind: async () => BOUND_TO_NOTHING,
    profile: PROFILE,
    shown: { kind: 'call', name, arguments: canonicalJson(input) },
    cwd: null,
    limits: { wall_ms: wallMs },
    executor: EXECUTOR,
    printed: { tool: name, tier: EXECUTOR },
    prepared: input,
  };
}

/** Nothing holds our own code but itself, and that is what is attested. */
export function builtInFacts(startedAt: number, endedAt: number): ExecutionFacts {
  return {
    executor: EXECUTOR,
    enforcement: 'none',
    sandbox: {},
    resources: { wall_ms: Math.max(0, endedAt - startedAt) },
    egress: [],
    startedAt,
    endedAt,
  };
}
