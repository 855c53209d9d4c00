import { AppError } from '@palyra/primitives';

/** Codes are API: add one, never rename one. */
export const SERVICE_ERRORS = {
  'service.not_root': 'Only root can start palyrad as a service.',
  'service.unknown_user': 'There is no such account on this machine.',
  'service.unsafe_state': 'Somebody else could reach into what the service keeps.',
  'service.unsafe_user': 'An account of the service is root, or both are the same user.',
} as const;

export type ServiceErrorCode = keyof typeof SERVICE_ERRORS;

export class ServiceError extends AppError<ServiceErrorCode> {}
