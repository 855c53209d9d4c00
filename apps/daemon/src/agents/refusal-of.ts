import type { AgentAnswer } from '@palyra/agents';
import type { ToolCallResult } from '@palyra/gateway';

/** In words for the model: what was refused, why, and what would help. */
export function refusalOf({ outcome, decision, call_id: id }: ToolCallResult): AgentAnswer {
  const { message = decision.reason, code = decision.reason_code, fix } = outcome;
  const help = fix === undefined ? '' : ` ${fix}`;
  return { kind: 'refused', reason: `Palyra refused this (${code}): ${message}${help} [palyra why ${id.slice(-6)}]` };
}
