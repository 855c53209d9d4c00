import { PairingError, type PairingErrorCode } from './pairing-error.ts';

/** What one side says before it hangs up. Until the keys are proven nobody vouches for it: it may end a run, no more. */
export interface Refusal {
  readonly code: RefusalCode;
  readonly triesLeft?: number;
  readonly retryAfterMs?: number;
  /** Those that the refusing side speaks. */
  readonly versions?: readonly number[];
}

/** Those of our codes that go over the wire. */
export type RefusalCode = Extract<
  PairingErrorCode,
  | 'pairing.burnt'
  | 'pairing.cancelled'
  | 'pairing.clock_skew'
  | 'pairing.device_known'
  | 'pairing.expired'
  | 'pairing.invalid_name'
  | 'pairing.no_invitation'
  | 'pairing.not_confirmed'
  | 'pairing.not_issued'
  | 'pairing.protocol'
  | 'pairing.refused'
  | 'pairing.several_invitations'
  | 'pairing.slow_down'
  | 'pairing.timed_out'
  | 'pairing.used'
  | 'pairing.version_mismatch'
  | 'pairing.wrong_pin'
>;

const NEW_INVITATION = 'Ask the operator for a new invitation: palyra device pair.';

const REFUSALS: Readonly<Record<RefusalCode, readonly [message: string, fix: string]>> = {
  'pairing.burnt': ['The invitation was tried too often and is void.', NEW_INVITATION],
  'pairing.cancelled': ['The operator took the invitation back.', NEW_INVITATION],
  'pairing.clock_skew': ['The clocks of the two sides differ too much.', 'Set the clocks of both, and pair again.'],
  'pairing.device_known': [
    'This device is known there under another key, or as another kind.',
    'Ask the operator for an invitation that replaces it: palyra device pair --replace ID.',
  ],
  'pairing.expired': ['The invitation has expired.', NEW_INVITATION],
  'pairing.invalid_name': ['The other side does not take this name.', 'Choose a name of plain letters and digits.'],
  'pairing.no_invitation': ['Nobody is invited there.', NEW_INVITATION],
  'pairing.not_confirmed': ['The operator did not answer in time.', NEW_INVITATION],
  'pairing.not_issued': ['The certificate could not be issued.', 'The other side says why: look there.'],
  'pairing.protocol': ['The other side did not understand a message.', 'Use the same version of Palyra on both sides.'],
  'pairing.refused': ['The operator refused this device.', 'Talk to the operator.'],
  'pairing.several_invitations': [
    'Several devices are invited there.',
    'Name the invitation with --invitation ID, or use the join URL.',
  ],
  'pairing.slow_down': ['There were too many failures.', 'Wait, and try again.'],
  'pairing.timed_out': ['The other side waited too long for this one.', 'Try again.'],
  'pairing.used': ['The invitation has been used already.', NEW_INVITATION],
  'pairing.version_mismatch': [
    'The other side speaks another version of the pairing protocol.',
    'Use the same version of Palyra on both sides.',
  ],
  'pairing.wrong_pin': ['That is not the PIN or the code of the invitation.', 'Look at it again, and try once more.'],
};

export function isRefusalCode(text: unknown): text is RefusalCode {
  return typeof text === 'string' && Object.hasOwn(REFUSALS, text);
}

/** The refusal as a fault: of the other side's where we were told it, of ours where we tell it. */
export function refused(refusal: Refusal): PairingError {
  const [message, fix] = REFUSALS[refusal.code];
  return new PairingError(refusal.code, [message, ...detailsOf(refusal)].join(' '), { fix, refusal });
}

function detailsOf({ triesLeft, retryAfterMs, versions }: Refusal): string[] {
  return [
    ...(triesLeft === undefined ? [] : [triesLeft === 1 ? 'One try is left.' : `${triesLeft} tries are left.`]),
    ...(retryAfterMs === undefined ? [] : [`The next try is taken in ${Math.ceil(retryAfterMs / 1000)} s.`]),
    ...(versions === undefined ? [] : [`It speaks ${versions.join(', ')}.`]),
  ];
}
