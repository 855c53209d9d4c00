import { AppError } from '@palyra/primitives';

/** Codes are API: add one, never rename one. */
export const DAEMON_ERRORS = {
  'daemon.not_authenticated': 'The connection has no credential that counts.',
  'daemon.not_permitted': 'The policies do not allow this to the caller.',
  'daemon.invalid_request': 'The message is not what this call takes.',
  'daemon.too_large': 'The message is larger than this call takes.',
  'daemon.too_many': 'The caller does too much at once, or too often.',
  'daemon.public_bind': 'palyrad would listen where other hosts reach it, and is not told to.',
  'daemon.cannot_listen': 'palyrad cannot listen where it is told to.',
  'daemon.invalid_arguments': 'palyrad was started with arguments that it does not know.',
  'daemon.stopping': 'palyrad is ending and takes no more work.',
  'daemon.fault': 'Something went wrong that is not the caller’s fault.',
} as const;

export type DaemonErrorCode = keyof typeof DAEMON_ERRORS;

export class DaemonError extends AppError<DaemonErrorCode> {}
