import type { JsonObject } from '@palyra/primitives';
import type { Execution, FinalReply } from './file-worker.ts';
import { type Effect, FILE_TOOL_ERRORS, type FileToolErrorCode, type ProtectedFile } from './worker/file-failure.ts';
import type { FileChanges } from './worker/tool-shapes.ts';

/** What became of one request. */
export type FileToolResult =
  | {
      readonly kind: 'completed';
      readonly output: JsonObject;
      /** Of a tool that writes: with the contents that were kept it is undone by these. */
      readonly changes: FileChanges | undefined;
      readonly execution: Execution | undefined;
    }
  | {
      readonly kind: 'failed';
      readonly code: FileToolErrorCode;
      readonly message: string;
      readonly fix: string | undefined;
      /** `none`: no file was touched. `rolled_back`: some were, and are as before. `unknown`: look at `changes`. */
      readonly effect: Effect;
      readonly path: string | undefined;
      /** Of a patch. */
      readonly hunk: number | undefined;
      readonly line: number | undefined;
      readonly protectedFiles: readonly ProtectedFile[];
      /** With `unknown`: what was on its way. */
      readonly changes: FileChanges | undefined;
      readonly execution: Execution | undefined;
    };

type Failed = Extract<FileToolResult, { kind: 'failed' }>;

export function failed(code: FileToolErrorCode, message: string = FILE_TOOL_ERRORS[code], fix?: string): Failed {
  return {
    kind: 'failed',
    code,
    message,
    fix,
    effect: 'none',
    path: undefined,
    hunk: undefined,
    line: undefined,
    protectedFiles: [],
    changes: undefined,
    execution: undefined,
  };
}

export function resultOf(reply: FinalReply, changes: FileChanges | undefined, execution: Execution): FileToolResult {
  if (reply.kind === 'done') return { kind: 'completed', output: reply.output as JsonObject, changes, execution };
  const { code, message, fix, effect, path, hunk, line, protectedFiles = [] } = reply;
  const unsettled = effect === 'unknown' ? changes : undefined;
  return {
    kind: 'failed',
    code,
    message,
    fix,
    effect,
    path,
    hunk,
    line,
    protectedFiles,
    changes: unsettled,
    execution,
  };
}
