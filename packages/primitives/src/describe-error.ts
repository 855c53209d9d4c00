import { AppError } from './app-error.ts';

/** What an edge may tell about an error: to a program, to a person, and what that person can do. */
export interface ErrorDescription {
  readonly code: string;
  readonly message: string;
  readonly fix: string | undefined;
}

const INTERNAL: ErrorDescription = {
  code: 'internal',
  message: 'Something went wrong inside Palyra.',
  fix: 'Look at the log of the process that answered; it holds the cause.',
};

/**
 * Never throws, whatever was thrown. Only an `AppError` was written to be read by others;
 * anything else becomes the `internal` fault.
 */
export function describeError(thrown: unknown): ErrorDescription {
  // SECURITY: T-24 — the message of a foreign error may quote paths, queries or credentials; its cause always may.
  if (!(thrown instanceof AppError)) return INTERNAL;
  return { code: thrown.code, message: thrown.message, fix: thrown.fix };
}
