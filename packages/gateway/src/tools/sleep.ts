import type { Clock } from '@palyra/primitives';
import type { Tool, ToolMetadata } from '../catalog/tool.ts';
import { builtInFacts, builtInPlan } from './built-in-plan.ts';
import { timeIsOver } from './time-is-over.ts';

const METADATA: ToolMetadata = {
  name: 'palyra.sleep',
  version: '1',
  description: 'Waits. For tests and demonstrations.',
  inputSchema: {
    type: 'object',
    properties: { ms: { type: 'integer', description: 'For how long.', minimum: 0, maximum: 3_600_000 } },
    required: ['ms'],
    additionalProperties: false,
  },
  capabilities: [],
  isSensitive: false,
  tier: 'built_in',
  isParallel: true,
  isHidden: true,
};

export function createSleep({ clock }: { readonly clock: Clock }): Tool {
  return {
    metadata: METADATA,
    plan: async (input, { timeoutMs }) => builtInPlan(METADATA, input, timeoutMs),
    async execute({ plan }, { signal }) {
      const startedAt = clock.now();
      const { ms } = plan.prepared as { readonly ms: number };
      const isRested = await clock.sleep(ms, signal).then(
        () => true,
        () => false,
      );
      const ran = builtInFacts(startedAt, clock.now());
      if (isRested) return { kind: 'completed', output: { slept_ms: ran.endedAt - startedAt }, ran };
      if (timeIsOver(signal)) return { kind: 'timed_out', code: 'tool.timed_out', message: 'Its time was over.', ran };
      return { kind: 'cancelled', code: 'tool.cancelled', message: 'It was cancelled while it slept.', ran };
    },
  };
}
