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
  'cli.output_failed': EXIT_CODES.internal,
  'config.': EXIT_CODES.usage,
  'config.file_exists': EXIT_CODES.conflict,
  'config.write_failed': EXIT_CODES.internal,
  'policy.': EXIT_CODES.usage,
};

/** What is not in the table is a fault of ours: a code without a meaning must not look like an ordinary refusal. */
export function exitCodeOf(thrown: unknown): ExitCode {
  if (!(thrown instanceof AppError)) return EXIT_CODES.internal;
  const prefix = thrown.code.slice(0, thrown.code.indexOf('.') + 1);
  return EXITS[thrown.code] ?? EXITS[prefix] ?? EXIT_CODES.internal;
}
