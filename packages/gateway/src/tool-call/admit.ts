import type { Catalog } from '../catalog/create-catalog.ts';
import { parseInput } from '../catalog/parse-input.ts';
import { isAllowedTool } from '../tool-call-config.ts';
import { refusedBy, refusedByFault } from './call-end.ts';
import type { ToolCallSteps } from './run-tool-call.ts';

export interface AdmitDeps {
  readonly catalog: Catalog;
}

/** Everything that can be known without asking anybody and without running anything. */
export function createAdmit({ catalog }: AdmitDeps): ToolCallSteps['admit'] {
  return async (call) => {
    const { run, proposed, signal } = call;
    if (signal.aborted) return refusedBy('gateway.cancelled', 'The call was cancelled before it was looked at.');
    const tool = catalog.get(proposed.tool);
    if (tool === undefined) {
      return refusedBy(
        'gateway.unknown_tool',
        'There is no such tool.',
        '`palyra tool list` shows those that there are.',
      );
    }
    if (!isAllowedTool(run.config, tool.metadata.name)) {
      return refusedBy(
        'gateway.tool_not_allowed',
        `The operator does not allow ${tool.metadata.name}.`,
        'Ask the operator to add it to the allowed tools.',
      );
    }
    const input = parseInput(proposed.input, tool.metadata);
    if (input.kind === 'refused') return input;
    const reservation = run.budget.reserve();
    if (reservation === undefined) {
      return refusedBy(
        'gateway.budget_exhausted',
        `The run has made its ${run.config.maxCallsPerRun} calls.`,
        'Begin another run, or have the operator raise max_calls_per_run.',
      );
    }
    const place = {
      runId: run.id,
      callId: call.id,
      workspace: run.workspace.root,
      timeoutMs: run.config.executionTimeoutMs,
    };
    const plan = await tool.plan(input.value, place).catch((fault: unknown) => refusedByFault(fault));
    if (plan.kind === 'planned') return { kind: 'passed', call: { ...call, tool, plan, reservation } };
    reservation.free();
    return plan;
  };
}
