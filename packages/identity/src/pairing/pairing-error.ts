import { AppError, type AppErrorOptions } from '@palyra/primitives';
import type { Refusal } from './refusal.ts';

/** Codes are API: add one, never rename one. */
export const PAIRING_ERRORS = {
  'pairing.bad_certificate': 'What was issued is not a certificate for this device from the CA that was agreed on.',
  'pairing.burnt': 'The invitation was tried too often and is void.',
  'pairing.cancelled': 'The operator took the invitation back.',
  'pairing.clock_skew': 'The clocks of the two sides differ too much for a certificate to be valid on both.',
  'pairing.closed': 'The other side closed the connection.',
  'pairing.device_known': 'The device id belongs to another key or another kind; replacing it has to be asked for.',
  'pairing.expired': 'The invitation has expired.',
  'pairing.host_not_proven': 'The other side does not know the PIN or the code: it is not the one that invited.',
  'pairing.invalid_invitation': 'An invitation cannot be made from this.',
  'pairing.invalid_name': 'A name of a device cannot be shown as it is.',
  'pairing.invalid_secret': 'This is no PIN.',
  'pairing.invalid_url': 'This is neither an address nor a join URL.',
  'pairing.no_invitation': 'Nobody is invited there, or not under this id.',
  'pairing.not_confirmed': 'The operator did not answer in time.',
  'pairing.not_issued': 'The certificate could not be issued.',
  'pairing.not_our_listener': 'Something else than a pairing listener answers there.',
  'pairing.other_ca': 'The CA of the host is not the one that the join URL names.',
  'pairing.protocol': 'A message was not of the form, or not at the place, that the protocol demands.',
  'pairing.refused': 'The operator refused the device.',
  'pairing.several_invitations': 'Several devices are invited there, and none was named.',
  'pairing.slow_down': 'There were too many failures; the next try has to wait.',
  'pairing.timed_out': 'The other side took too long.',
  'pairing.unreachable': 'Nothing answers at the address.',
  'pairing.used': 'The invitation has been used.',
  'pairing.version_mismatch': 'The two sides have no version of the protocol in common.',
  'pairing.wrong_pin': 'The PIN or the code is not the one of the invitation.',
} as const;

export type PairingErrorCode = keyof typeof PAIRING_ERRORS;

export interface PairingErrorOptions extends AppErrorOptions {
  /** What the other side is told, where it may be told. */
  readonly refusal?: Refusal;
}

export class PairingError extends AppError<PairingErrorCode> {
  readonly refusal: Refusal | undefined;

  constructor(code: PairingErrorCode, message: string, options: PairingErrorOptions = {}) {
    super(code, message, options);
    this.refusal = options.refusal;
  }
}
