import { FileFailure } from './file-failure.ts';

/** A patch that is being read. */
export interface PatchLines {
  /** Without their ends. */
  readonly lines: readonly string[];
  at: number;
}

export function malformed({ at }: Pick<PatchLines, 'at'>, reason: string): FileFailure {
  return new FileFailure('file.patch_malformed', `Line ${at + 1} of the patch: ${reason}`, { line: at + 1 });
}
