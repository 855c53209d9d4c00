import type { Tool, ToolPlan } from '@palyra/gateway';
import { type JsonObject, sha256OfJson } from '@palyra/primitives';

interface TestTool {
  readonly name?: string;
  readonly isParallel?: boolean;
  readonly enforced?: Partial<ToolPlan['enforced']>;
  execute?(input: JsonObject, signal: AbortSignal): Promise<JsonObject>;
}

const NOTHING_LEAVES: ToolPlan['enforced'] = {
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

/** A tool that does what a test wants, and leaves the box in the way that it wants. */
export function testTool({ name = 'test.echo', isParallel = true, enforced = {}, execute }: TestTool = {}): Tool {
  return {
    metadata: {
      name,
      version: '1',
      description: 'For tests.',
      inputSchema: {
        type: 'object',
        additionalProperties: false,
        required: ['text'],
        properties: { text: { type: 'string', maxLength: 1000 } },
      },
      capabilities: [],
      isSensitive: false,
      tier: 'built_in',
      isParallel,
      isHidden: false,
    },
    async plan(input) {
      return {
        kind: 'planned',
        arguments: input,
        capabilities: [],
        enforced: { ...NOTHING_LEAVES, ...enforced },
        declared: { arguments: [], hosts: [], paths: [] },
        bind: async () => ({ kind: 'bound', bound: [], notBound: [] }),
        profile: sha256OfJson({ ...enforced }),
        shown: { kind: 'call', name, arguments: JSON.stringify(input) },
        cwd: null,
        limits: {},
        executor: 'built_in',
        printed: input,
        prepared: undefined,
      };
    },
    async execute(call, { signal }) {
      const input = call.plan.arguments as JsonObject;
      const startedAt = Date.now();
      const output = execute === undefined ? input : await execute(input, signal);
      return {
        kind: 'completed',
        output,
        ran: {
          executor: 'built_in',
          enforcement: 'none',
          sandbox: {},
          resources: {},
          egress: [],
          startedAt,
          endedAt: Date.now(),
        },
      };
    },
  };
}

/** Something that has to be asked for under `coding`: a path outside the workspace. */
export const LEAVES_THE_BOX: Partial<ToolPlan['enforced']> = {
  outsidePaths: ['/srv/other'],
  readRoots: ['/srv/other'],
};
