import type { Catalog } from '../catalog/create-catalog.ts';
import { parseInput } from '../catalog/parse-input.ts';
import type { Tool } from '../catalog/tool.ts';
import { isAllowedTool, type ToolCallConfig } from '../tool-call-config.ts';
import { type RefusedCall, refusedBy, refusedByFault } from './call-end.ts';
import type { OpenedCall } from './decided-call.ts';
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
    const { metadata } = tool;
    const setting = forbiddenBy(tool, run.config);
    if (setting !== undefined) {
      return refusedBy(
        'gateway.tool_not_allowed',
        `The operator does not allow ${metadata.name}.`,
        `An operator changes ${setting} in palyra.toml to allow it.`,
      );
    }
    const misplaced = whyMisplaced(call, tool);
    if (misplaced !== undefined) return misplaced;
    const input = parseInput(proposed.input, tool.metadata);
    if (input.kind === 'refused') return input;
    if (proposed.forbidden !== undefined) return refusedBy('gateway.forbidden_by_user', proposed.forbidden);
    const reservation = run.budget.reserve();
    if (reservation === undefined) {
      return refusedBy(
        'gateway.budget_exhausted',
        `The run has made its ${run.config.maxCallsPerRun} calls.`,
        'Begin another run, or have the operator raise tool_calls.max_calls_per_run.',
      );
    }
    const place = {
      runId: run.id,
      callId: call.id,
      workspace: run.workspace.root,
      timeoutMs: run.config.executionTimeoutMs,
      coverage: run.caller.coverage,
      ...(run.caller.isBoxed === true ? { isBoxed: true as const } : {}),
    };
    const plan = await tool.plan(input.value, place).catch((fault: unknown) => refusedByFault(fault));
    if (plan.kind === 'planned') return { kind: 'passed', call: { ...call, tool, plan, reservation } };
    reservation.free();
    return plan;
  };
}

function forbiddenBy({ metadata }: Tool, config: ToolCallConfig): string | undefined {
  if (!isAllowedTool(config, metadata.name)) return 'tool_calls.allowed_tools';
  const runsProcesses = metadata.capabilities.includes('process_exec');
  return runsProcesses && !config.processRunner.enabled ? 'process_runner.enabled' : undefined;
}

function whyMisplaced({ nestedIn, proposed }: OpenedCall, { metadata, isDelegated }: Tool): RefusedCall | undefined {
  // SECURITY: T-01 — what an agent's own tool did is attested as its hook told it: an agent that merely says so is no hook.
  if ((isDelegated === true) !== (proposed.report !== undefined)) {
    return refusedBy(
      'gateway.not_delegated',
      `${metadata.name} is one of an agent’s own tools, and only its hook asks for it.`,
      'Use the tools that `palyra tool list` shows.',
    );
  }
  // SECURITY: T-01 — whose call it is part of is attested, so it is not for the caller to make up.
  if (nestedIn === 'unknown') return refusedBy('gateway.unknown_parent', 'No such call is under way in the run.');
  // Others may run beside its parent, and so beside it; waiting for them might be waiting for one another.
  if (nestedIn === 'shared' && !metadata.isParallel) {
    return refusedBy(
      'gateway.not_beside_others',
      `${metadata.name} has to be alone in its run, and the tool that calls it is not.`,
      'Declare that tool as one that is not parallel.',
    );
  }
  return undefined;
}
