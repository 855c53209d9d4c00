import type { Effect, FileToolErrorCode, ProtectedFile } from './file-failure.ts';
import type { FileLimits } from './limits.ts';
import type { AllowedProtected, ProtectedPattern } from './protected-paths.ts';
import type { FileChanges } from './tool-shapes.ts';

export type FileToolName =
  | 'palyra.fs.read'
  | 'palyra.fs.list'
  | 'palyra.fs.search'
  | 'palyra.fs.write'
  | 'palyra.fs.apply_patch';

/** What the worker is asked for. Inputs were checked against their schemas before. */
export interface WorkerRequest {
  readonly act:
    | { readonly kind: 'run'; readonly tool: FileToolName; readonly input: unknown }
    /** Which protected files it would touch; touches none. */
    | { readonly kind: 'inspect'; readonly tool: FileToolName; readonly input: unknown }
    | {
        readonly kind: 'undo';
        readonly changes: FileChanges;
        readonly conflicts: 'refuse' | 'skip';
        /** Of the change that is undone: what it left beside the files is removed. */
        readonly temporary?: string;
      }
    /** What a worker that died has left: how each file is, and its temporary files removed. */
    | { readonly kind: 'settle'; readonly changes: FileChanges; readonly temporary: string };
  /** Begins the names of temporary files. */
  readonly temporary: string;
  /** So many blobs follow. */
  readonly blobs: number;
  readonly limits: FileLimits;
  readonly patterns: readonly ProtectedPattern[];
  readonly allowProtected: AllowedProtected;
}

/** The answer to `prepared`. */
export interface WorkerOrder {
  readonly order: 'commit' | 'abort';
}

export type WorkerReply =
  | { readonly kind: 'hello' }
  /** Old contents were sent before it, new ones are ready; nothing is changed yet. */
  | { readonly kind: 'prepared'; readonly changes: FileChanges; readonly output: unknown }
  | { readonly kind: 'done'; readonly output: unknown }
  | {
      readonly kind: 'failed';
      readonly code: FileToolErrorCode;
      readonly message: string;
      readonly effect: Effect;
      readonly path?: string;
      readonly fix?: string;
      readonly hunk?: number;
      readonly line?: number;
      readonly protectedFiles?: readonly ProtectedFile[];
    };

export interface InspectOutput {
  /** Where the paths really lead. */
  readonly paths: readonly string[];
  readonly protectedFiles: readonly ProtectedFile[];
  /** What a writing tool would do; null for one that reads, and where that would tell what a secret-shaped file holds. */
  readonly changes: FileChanges | null;
  /** With `changes` of `palyra.fs.write`: the text that would be replaced, where it is one that people can be shown. */
  readonly present: string | null;
}

export interface SettleOutput {
  /** In the order of the changes. */
  readonly states: readonly ('before' | 'after' | 'other')[];
}
