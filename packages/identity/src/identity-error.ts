import { AppError } from '@palyra/primitives';

/** Codes are API: add one, never rename one. */
export const IDENTITY_ERRORS = {
  'identity.ca_exists': 'This home has a certificate authority already.',
  'identity.ca_missing': 'This home has no certificate authority, or not its key.',
  'identity.ca_invalid': 'What is kept of the certificate authority cannot be read.',
  'identity.ca_expired': 'The certificate authority of this home has run out.',
  'identity.ca_busy': 'Another process is changing the certificate authority.',
  'identity.key_missing': 'A private key is not where it should be.',
  'identity.key_unsafe': 'Others can read or replace a private key, or what stands beside it.',
  'identity.key_invalid': 'A file does not hold a private key that can be used here.',
  'identity.not_written': 'A file of the identity directory could not be written.',
  'identity.invalid_request': 'A certificate request is malformed, or not signed by its own key.',
  'identity.invalid_name': 'A name of a device, a principal or a token cannot be used.',
  'identity.invalid_roles': 'A role does not exist, or a device of this kind cannot have it.',
  'identity.invalid_lifetime': 'A certificate or a token would live too long, or not at all.',
  'identity.unknown_device': 'There is no such device.',
  'identity.unknown_token': 'There is no such token.',
  'identity.device_revoked': 'The device was revoked, which cannot be undone.',
  'identity.key_known': 'The key belongs to a device that is known already.',
  'identity.other_key': 'The device is known by another key.',
  'identity.changed_meanwhile': 'Somebody else changed the same device or token at the same time.',
  'identity.token_refused': 'A token of this kind cannot be made by whoever asked.',
  'identity.not_initialised': 'This home has no identities yet.',
  'identity.not_permitted': 'Whoever asked has not the role for it.',
  'identity.renewal_failed': 'The daemon did not renew the certificate.',
  'identity.corrupt': 'A stored device or token cannot be read.',
} as const;

export type IdentityErrorCode = keyof typeof IDENTITY_ERRORS;

export class IdentityError extends AppError<IdentityErrorCode> {}

/** Why a peer or a token does not count. Stable words for programs; a peer is told no more than these. */
export const IDENTITY_REFUSALS = {
  no_certificate: 'The connection shows no certificate.',
  malformed_certificate: 'The certificate does not name one device and one kind.',
  unknown_authority: 'The certificate is not of an authority that counts here, or does not count any more.',
  wrong_purpose: 'The certificate is not one for clients.',
  expired: 'The certificate has run out.',
  not_yet_valid: 'The certificate is not valid yet.',
  resumed_session: 'The connection resumes an earlier one, so nothing was proven on it.',
  unknown_device: 'The device is not registered here.',
  other_key: 'The device is registered with another key.',
  wrong_kind: 'A device of this kind has no business here.',
  revoked: 'The device was revoked.',
  registry_unavailable: 'Whether the device still counts cannot be found out now.',

  malformed_token: 'This is not a token.',
  bad_token: 'There is no such token, or it has run out or was revoked.',
  out_of_scope: 'The token is not for this.',
  used_up: 'The token was used as often as it may be.',
  throttled: 'There were too many failures or requests from here of late.',
} as const;

export type IdentityRefusal = keyof typeof IDENTITY_REFUSALS;

/** An expected no. */
export interface Refused<Code extends IdentityRefusal = IdentityRefusal> {
  readonly kind: 'refused';
  readonly code: Code;
  readonly reason: string;
}

export function refused<Code extends IdentityRefusal>(code: Code): Refused<Code> {
  return { kind: 'refused', code, reason: IDENTITY_REFUSALS[code] };
}
