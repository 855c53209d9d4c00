import { AppError, type AppErrorOptions } from '@palyra/primitives/bare';

/** Codes are API: add one, never rename one. */
export const STORAGE_ERRORS = {
  'storage.closed': 'The database was closed.',
  'storage.constraint_violated': 'A statement broke a constraint of its table.',
  'storage.corrupt': 'The file is not a sound database.',
  'storage.disk_full': 'There is no space left to write.',
  'storage.invalid_migration': 'A migration list that cannot be applied in order.',
  'storage.invalid_notification': 'A notification that not every driver can carry.',
  'storage.invalid_parameter': 'A value that not every driver can store unchanged.',
  'storage.invalid_statement': 'The database did not accept a statement.',
  'storage.io_failed': 'The disk failed to read or write.',
  'storage.locked': 'Another process kept the database locked for too long.',
  'storage.migration_edited': 'A migration that was applied before has other text now.',
  'storage.newer_schema': 'The database was written by a newer program.',
  'storage.not_durable': 'The server does not keep what it acknowledges.',
  'storage.outcome_unknown': 'The connection broke at the commit and nobody could say how it ended.',
  'storage.overloaded': 'Too many units wait for the writer.',
  'storage.permission_denied': 'The operating system or the server denied access.',
  'storage.program_failed': 'A writer program threw.',
  'storage.read_only': 'A write was tried on a connection for reading.',
  'storage.unavailable': 'The database cannot be reached.',
  'storage.unsafe_permissions': 'Other users of this machine can open the database file.',
  'storage.write_outside_unit': 'A write was executed directly instead of in a unit.',
} as const;

export type StorageErrorCode = keyof typeof STORAGE_ERRORS;

export interface StorageErrorOptions extends AppErrorOptions {
  /** For `storage.program_failed`: the code of what the program threw, which is for its caller to understand. */
  readonly programCode?: string | undefined;
}

export class StorageError extends AppError<StorageErrorCode> {
  readonly programCode: string | undefined;

  constructor(code: StorageErrorCode, message: string, options: StorageErrorOptions = {}) {
    super(code, message, options);
    this.programCode = options.programCode;
  }
}

/** What crosses a thread boundary in place of an error, which would lose its class and code. */
export interface StorageErrorData {
  readonly code: StorageErrorCode;
  readonly message: string;
  readonly fix: string | undefined;
  readonly programCode?: string | undefined;
}

export function toErrorData(error: StorageError): StorageErrorData {
  return { code: error.code, message: error.message, fix: error.fix, programCode: error.programCode };
}

export function fromErrorData(data: StorageErrorData): StorageError {
  const { code, message, fix, programCode } = data;
  return new StorageError(code, message, { programCode, ...(fix === undefined ? {} : { fix }) });
}
