import { AppError } from '@palyra/primitives';

/** Codes are API: add one, never rename one. */
export const CLIENT_ERRORS = {
  'client.unreachable': 'No palyrad answers, or the connection to it was lost.',
  'client.server_not_proven': 'Whoever answers at the address is not the palyrad of this home.',
  'client.credential_refused': 'palyrad does not take this credential.',
  'client.credential_missing': 'A file of the credential is not there.',
  'client.credential_unsafe':
    'A file of the credential, or the one that says where palyrad is, is open to other users.',
  'client.invalid_options': 'What was given to the SDK is not what it takes.',
  'client.invalid_input': 'The input of a tool call is no JSON value.',
  'client.key_in_use': 'Another call of the run has the same key and is under way.',
  'client.run_over': 'The run is over.',
  'client.cancelled': 'It was cancelled before palyrad said that it has it.',
  'client.closed': 'The client was closed.',
  'client.not_completed': 'The call did not complete; the error has its result.',
  'client.statement_differs': 'palyrad drafted another statement than the answer that was given; nothing was signed.',
  'client.not_supported': 'This palyrad does not have what was asked for.',
  'client.protocol': 'palyrad said something that this SDK does not understand.',
} as const;

export type ClientErrorCode = keyof typeof CLIENT_ERRORS;

/** Its code is one of `CLIENT_ERRORS`, or palyrad's own: then the same as on the command line. */
export class ClientError extends AppError {}

export function clientClosed(): ClientError {
  return new ClientError('client.closed', 'The client was closed; runs that were open go on at palyrad.', {
    fix: 'Connect again; a run can be resumed by its id.',
  });
}
