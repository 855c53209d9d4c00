import { AppError } from '@palyra/primitives';

/** What a script sees. The numbers are API: docs and scripts hold them. */
export const EXIT_CODES = {
  done: 0,
  /** A fault of ours. */
  internal: 1,
  /** Bad usage or input. */
  usage: 2,
  /** Not authenticated or not permitted. */
  denied: 3,
  /** The daemon cannot be reached. */
  unreachable: 4,
  /** This host cannot enforce it. */
  unenforceable: 5,
  /** Refused by policy, budget or sandbox. */
  refused: 6,
  /** A conflict or a precondition: already decided, changed meanwhile, there already. */
  conflict: 7,
  not_found: 8,
  /** Refused by a human, or nobody answered. */
  refused_by_human: 9,
  /** Stopped by the person at the keyboard, as shells count it: 128 + SIGINT. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];

/** Whole codes, or prefixes that end in a dot; the longest that matches decides. */
const EXITS: Readonly<Record<string, ExitCode>> = {
  'cli.': EXIT_CODES.usage,
  'cli.answer_refused': EXIT_CODES.denied,
  'cli.answered_already': EXIT_CODES.conflict,
  'cli.daemon_failed': EXIT_CODES.unreachable,
  'cli.daemon_not_running': EXIT_CODES.unreachable,
  'cli.file_exists': EXIT_CODES.conflict,
  'cli.file_missing': EXIT_CODES.not_found,
  'cli.not_found': EXIT_CODES.not_found,
  'cli.not_confirmed': EXIT_CODES.refused_by_human,
  'cli.output_failed': EXIT_CODES.internal,
  'cli.preset_differs': EXIT_CODES.conflict,
  'cli.not_available': EXIT_CODES.unenforceable,
  'cli.workspace_unknown': EXIT_CODES.refused,
  'config.': EXIT_CODES.usage,
  'config.file_exists': EXIT_CODES.conflict,
  'config.write_failed': EXIT_CODES.internal,
  'identity.': EXIT_CODES.usage,
  'identity.ca_busy': EXIT_CODES.conflict,
  'identity.ca_exists': EXIT_CODES.conflict,
  'identity.ca_expired': EXIT_CODES.conflict,
  'identity.ca_invalid': EXIT_CODES.conflict,
  'identity.ca_missing': EXIT_CODES.not_found,
  'identity.changed_meanwhile': EXIT_CODES.conflict,
  'identity.corrupt': EXIT_CODES.conflict,
  'identity.device_revoked': EXIT_CODES.conflict,
  'identity.key_known': EXIT_CODES.conflict,
  'identity.key_missing': EXIT_CODES.not_found,
  'identity.key_unsafe': EXIT_CODES.conflict,
  'identity.not_initialised': EXIT_CODES.not_found,
  'identity.not_permitted': EXIT_CODES.denied,
  'identity.not_written': EXIT_CODES.internal,
  'identity.other_key': EXIT_CODES.conflict,
  'identity.renewal_failed': EXIT_CODES.unreachable,
  'identity.token_refused': EXIT_CODES.denied,
  'identity.unknown_device': EXIT_CODES.not_found,
  'identity.unknown_token': EXIT_CODES.not_found,
  'journal.': EXIT_CODES.usage,
  'journal.body_corrupt': EXIT_CODES.conflict,
  'journal.body_erased': EXIT_CODES.conflict,
  'journal.body_unreadable': EXIT_CODES.internal,
  'journal.body_unsafe': EXIT_CODES.conflict,
  'journal.cannot_prune': EXIT_CODES.conflict,
  'journal.key_missing': EXIT_CODES.conflict,
  'journal.key_not_certified': EXIT_CODES.conflict,
  'journal.key_unsafe': EXIT_CODES.conflict,
  'journal.log_exists': EXIT_CODES.conflict,
  'journal.no_log': EXIT_CODES.not_found,
  'journal.not_archived': EXIT_CODES.internal,
  'journal.not_consistent': EXIT_CODES.conflict,
  'journal.not_erased': EXIT_CODES.internal,
  'journal.not_found': EXIT_CODES.not_found,
  'journal.not_recorded': EXIT_CODES.internal,
  'journal.outcome_unknown': EXIT_CODES.internal,
  'journal.own_log': EXIT_CODES.conflict,
  'journal.witness_store': EXIT_CODES.conflict,
  'pairing.': EXIT_CODES.refused,
  'pairing.bad_certificate': EXIT_CODES.denied,
  'pairing.clock_skew': EXIT_CODES.conflict,
  'pairing.closed': EXIT_CODES.unreachable,
  'pairing.device_known': EXIT_CODES.conflict,
  'pairing.host_not_proven': EXIT_CODES.denied,
  'pairing.invalid_invitation': EXIT_CODES.usage,
  'pairing.invalid_name': EXIT_CODES.usage,
  'pairing.invalid_secret': EXIT_CODES.usage,
  'pairing.invalid_url': EXIT_CODES.usage,
  'pairing.no_invitation': EXIT_CODES.not_found,
  'pairing.not_confirmed': EXIT_CODES.refused_by_human,
  'pairing.not_issued': EXIT_CODES.internal,
  'pairing.not_our_listener': EXIT_CODES.unreachable,
  'pairing.other_ca': EXIT_CODES.denied,
  'pairing.refused': EXIT_CODES.refused_by_human,
  'pairing.several_invitations': EXIT_CODES.usage,
  'pairing.timed_out': EXIT_CODES.unreachable,
  'pairing.unreachable': EXIT_CODES.unreachable,
  'pairing.version_mismatch': EXIT_CODES.conflict,
  'pairing.wrong_pin': EXIT_CODES.denied,
  'policy.': EXIT_CODES.usage,
  'sandbox.start_failed': EXIT_CODES.unenforceable,
  'storage.locked': EXIT_CODES.conflict,
  'storage.newer_schema': EXIT_CODES.conflict,
  'storage.permission_denied': EXIT_CODES.denied,
  'storage.unsafe_permissions': EXIT_CODES.conflict,
};

/** Where only the code is known: an outcome that was told, not thrown. */
export function exitCodeOfCode(code: string): ExitCode {
  return EXITS[code] ?? EXITS[code.slice(0, code.indexOf('.') + 1)] ?? EXIT_CODES.internal;
}

/** What is not in the table is a fault of ours: a code without a meaning must not look like an ordinary refusal. */
export function exitCodeOf(thrown: unknown): ExitCode {
  if (!(thrown instanceof AppError)) return EXIT_CODES.internal;
  return exitCodeOfCode(thrown.code);
}
