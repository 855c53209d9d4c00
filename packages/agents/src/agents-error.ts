import { AppError } from '@palyra/primitives';

/** Codes are API: add one, never rename one. */
export const AGENTS_ERRORS = {
  'agents.unknown_client': 'There is no such agent here.',
  'agents.bad_event': 'A hook said something that is not in the format of its agent.',
  'agents.unknown_format': 'The settings of the agent are not as they are known here, so they were left alone.',
} as const;

export type AgentsErrorCode = keyof typeof AGENTS_ERRORS;

export class AgentsError extends AppError<AgentsErrorCode> {}
