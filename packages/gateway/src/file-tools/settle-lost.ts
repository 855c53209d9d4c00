import type { JsonObject } from '@palyra/primitives';
import { type FileToolResult, failed } from './file-tool-result.ts';
import type { Blob, Execution } from './file-worker.ts';
import type { FileToolErrorCode } from './worker/file-failure.ts';
import type { SettleOutput, WorkerRequest } from './worker/protocol.ts';
import type { FileChanges } from './worker/tool-shapes.ts';

export interface LostChange {
  readonly why: FileToolErrorCode;
  readonly lost: {
    readonly changes: FileChanges;
    readonly output: unknown;
    readonly temporary: string;
    readonly execution: Execution;
  };
  ask(act: WorkerRequest['act'], blobs: readonly Blob[]): Promise<FileToolResult>;
  fetch(changes: FileChanges): Promise<readonly Blob[]>;
}

/**
 * A worker died while it changed files. All changed: it is done. None: nothing happened. Some: they are put back. What
 * cannot be found out is `unknown`, never guessed.
 */
export async function settleLost({ why, lost, ask, fetch }: LostChange): Promise<FileToolResult> {
  const { changes, output, temporary, execution } = lost;
  const unknown: FileToolResult = { ...failed(why), effect: 'unknown', changes, execution };
  const settled = await ask({ kind: 'settle', changes, temporary }, []);
  // SECURITY: T-32 — nobody may be told that nothing happened unless somebody has looked.
  if (settled.kind === 'failed') return unknown;
  const { states } = settled.output as unknown as SettleOutput;
  if (states.every((state) => state === 'before')) return { ...failed(why), execution };
  if (states.every((state) => state === 'after')) {
    return { kind: 'completed', output: output as JsonObject, changes, execution };
  }
  if (states.includes('other')) return unknown;
  const undone = await ask({ kind: 'undo', changes, conflicts: 'refuse' }, await fetch(changes));
  return undone.kind === 'completed' ? { ...failed(why), effect: 'rolled_back', execution } : unknown;
}
