/** Codes are API: add one, never rename one. */
export const FILE_TOOL_ERRORS = {
  'file.binary': 'The file is not text, and text was asked for.',
  'file.busy': 'Too many requests are waiting for a file worker.',
  'file.cancelled': 'The request was cancelled.',
  'file.changed': 'The file changed while it was worked on, so it was left alone.',
  'file.conflict': 'The file is not what the request says it must be.',
  'file.exists': 'There is something at this path already.',
  'file.invalid_input': 'The input is malformed.',
  'file.io_failed': 'The file system refused.',
  'file.link_loop': 'The path leads through too many links.',
  'file.no_space': 'There is no room for the file.',
  'file.not_directory': 'A part of the path is not a directory.',
  'file.not_found': 'There is nothing at this path.',
  'file.not_kept': 'What would be overwritten could not be kept, so it was left alone.',
  'file.not_permitted': 'The permissions of the file do not allow it.',
  'file.not_regular': 'The path names something that is not a regular file.',
  'file.outside_workspace': 'The path leads out of the workspace.',
  'file.patch_malformed': 'The patch is not a unified diff that can be read.',
  'file.patch_mismatch': 'The patch does not fit the file.',
  'file.pattern_refused': 'The pattern cannot be searched for in linear time.',
  'file.protected': 'The file runs code later or looks like a secret, and nobody approved.',
  'file.timed_out': 'The request took too long.',
  'file.too_large': 'The file or the answer is larger than the limits allow.',
  'file.unavailable': 'There is no sandbox to work in.',
  'file.worker_failed': 'The worker ended before it answered.',
} as const;

export type FileToolErrorCode = keyof typeof FILE_TOOL_ERRORS;

/** What became of the files although the request failed. */
export type Effect = 'none' | 'rolled_back' | 'unknown';

export interface FailureDetails {
  /** Relative to the workspace. */
  readonly path?: string;
  readonly fix?: string;
  /** Counted from 1, in the order of the patch. */
  readonly hunk?: number;
  /** Of the patch when it is malformed, of the file when it does not fit. */
  readonly line?: number;
  readonly effect?: Effect;
  /** With `file.protected`: all that would need an approval. */
  readonly protectedFiles?: readonly ProtectedFile[];
}

export interface ProtectedFile {
  /** Every link resolved, relative to the workspace. */
  readonly path: string;
  readonly reason: 'protected' | 'secret';
}

/** Thrown inside the worker, where one place makes a value of it. */
export class FileFailure extends Error {
  readonly code: FileToolErrorCode;
  readonly details: FailureDetails;

  constructor(code: FileToolErrorCode, message: string, details: FailureDetails = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** The kernel's answer as ours. Its message names our own paths below /proc, so it is not passed on. */
export function fromSystem(error: unknown, path: string): FileFailure {
  if (error instanceof FileFailure) return error;
  const errno = error instanceof Error && 'code' in error ? String(error.code) : '';
  const [code, message] = KNOWN[errno] ?? ['file.io_failed', `The file system refused (${errno || 'no reason'}).`];
  return new FileFailure(code, message, { path });
}

const KNOWN: Readonly<Record<string, readonly [FileToolErrorCode, string]>> = {
  ENOENT: ['file.not_found', 'There is nothing at this path.'],
  EACCES: ['file.not_permitted', 'The permissions of the file do not allow it.'],
  EPERM: ['file.not_permitted', 'The permissions of the file do not allow it.'],
  EROFS: ['file.not_permitted', 'The workspace may only be read.'],
  ENOSPC: ['file.no_space', 'The disk is full.'],
  EDQUOT: ['file.no_space', 'The quota is used up.'],
  EFBIG: ['file.no_space', 'The file would be too large.'],
  ENOTDIR: ['file.not_directory', 'A part of the path is not a directory.'],
  EISDIR: ['file.not_regular', 'The path names a directory.'],
  EEXIST: ['file.exists', 'There is something at this path already.'],
  ELOOP: ['file.changed', 'A link took the place of the file.'],
  ENAMETOOLONG: ['file.invalid_input', 'A name in the path is too long.'],
};
