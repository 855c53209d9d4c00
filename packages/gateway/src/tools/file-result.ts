import type { JsonObject, JsonValue } from '@palyra/primitives';
import type { ExecutionFacts, ToolResult } from '../catalog/tool.ts';
import type { FileToolResult } from '../file-tools/file-tool-result.ts';
import type { Execution } from '../file-tools/file-worker.ts';
import { enforcementOf, measuredSandbox } from './measured-sandbox.ts';

export interface FileResultQuestion {
  readonly result: FileToolResult;
  readonly isTimeOver: boolean;
  /** It was stopped because it would not have done what was approved. */
  readonly isChanged: boolean;
  readonly startedAt: number;
  readonly endedAt: number;
}

type Failed = Extract<FileToolResult, { kind: 'failed' }>;

/** What became of a file tool, as every tool tells it. */
export function fileResultOf({ result, startedAt, endedAt, ...why }: FileResultQuestion): ToolResult {
  const { execution } = result;
  if (result.kind === 'failed' && execution === undefined) return asRefusal(result);
  const ran = execution === undefined ? undefined : factsOf(execution, startedAt, endedAt);
  if (ran === undefined) throw new Error('A file tool was served by nobody.');
  if (result.kind === 'completed') return { kind: 'completed', output: result.output, ran };

  const { code, message, fix } = why.isChanged && result.effect !== 'unknown' ? CHANGED : result;
  const failed = { code, message, fix, output: detailsOf(result), ran };
  // SECURITY: T-32 — files that may be changed are never told as unchanged.
  if (result.effect === 'unknown') return { kind: 'unknown_outcome', ...failed };
  if (code === 'file.timed_out' || (code === 'file.cancelled' && why.isTimeOver))
    return { kind: 'timed_out', ...failed };
  return { kind: code === 'file.cancelled' ? 'cancelled' : 'failed', ...failed };
}

const CHANGED = {
  code: 'gateway.changed_meanwhile',
  message: 'The files are not what they were when this was approved, so they were left alone.',
  fix: 'Look at what changed, and propose the call again.',
};

/** No worker ever had it. */
export function asRefusal({ code, message, fix }: Failed): Extract<ToolResult, { kind: 'refused' }> {
  return { kind: 'refused', code, message, fix };
}

function factsOf(execution: Execution, startedAt: number, endedAt: number): ExecutionFacts {
  return {
    executor: execution.executor,
    enforcement: enforcementOf(execution),
    sandbox: measuredSandbox({ ...execution, pooled: true }),
    resources: { wall_ms: Math.max(0, endedAt - startedAt) },
    egress: [],
    startedAt,
    endedAt,
  };
}

/** Where exactly it failed, and what that left behind. */
function detailsOf({ effect, path, hunk, line, protectedFiles }: Failed): JsonObject {
  const known: Record<string, JsonValue | undefined> = {
    effect,
    path,
    hunk,
    line,
    protected_files:
      protectedFiles.length === 0 ? undefined : protectedFiles.map(({ path: at, reason }) => ({ path: at, reason })),
  };
  return Object.fromEntries(Object.entries(known).filter((each): each is [string, JsonValue] => each[1] !== undefined));
}
