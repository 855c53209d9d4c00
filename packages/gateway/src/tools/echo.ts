import type { Clock, JsonObject } from '@palyra/primitives';
import type { Tool, ToolMetadata } from '../catalog/tool.ts';
import { builtInFacts, builtInPlan } from './built-in-plan.ts';

const METADATA: ToolMetadata = {
  name: 'palyra.echo',
  version: '1',
  description: 'Says again what it is told. For tests and demonstrations.',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string', description: 'What it says.', maxLength: 65_536 } },
    required: ['text'],
    additionalProperties: false,
  },
  capabilities: [],
  isSensitive: false,
  tier: 'built_in',
  isParallel: true,
  isHidden: true,
};

export function createEcho({ clock }: { readonly clock: Clock }): Tool {
  return {
    metadata: METADATA,
    changesNothing: true,
    plan: async (input, { timeoutMs }) => builtInPlan(METADATA, input, timeoutMs),
    async execute({ plan }) {
      const startedAt = clock.now();
      const { text = '' } = plan.prepared as JsonObject;
      return { kind: 'completed', output: { text }, ran: builtInFacts(startedAt, clock.now()) };
    },
  };
}
