import { constants } from 'node:os';
import { EXIT_CODES, type ExitCode } from './exit-codes.ts';

/** As much of a call as decides what a script sees and a person reads. */
export interface EndedCall {
  readonly decision: { readonly kind: 'allow' | 'ask' | 'deny' };
  readonly approval?: { readonly outcome: string } | undefined;
  readonly outcome: {
    readonly kind: string;
    readonly code?: string | undefined;
    readonly message?: string | undefined;
    readonly fix?: string | undefined;
    readonly exit_code?: number | undefined;
    readonly signal?: string | undefined;
  };
}

/** Above every exit code that programs use for themselves, signals included (128 + 64). */
export const OWN_EXITS = 240;

/** The command's own exit code; where there is none, ours and 240. */
export function exitOfOutcome(call: EndedCall): number {
  const { kind, exit_code: exitCode, signal } = call.outcome;
  if (kind === 'completed' || kind === 'failed') {
    if (exitCode !== undefined) return exitCode;
    const number = constants.signals[signal as NodeJS.Signals] as number | undefined;
    if (number !== undefined) return 128 + number;
    if (kind === 'completed') return EXIT_CODES.done;
  }
  return OWN_EXITS + reasonOf(call);
}

function reasonOf({ approval, outcome: { kind, code = '' } }: EndedCall): ExitCode {
  if (kind === 'unknown_outcome' || kind === 'failed') return EXIT_CODES.internal;
  if (kind === 'cancelled') return EXIT_CODES.refused_by_human;
  if (code.startsWith('gateway.approval_') || approval?.outcome === 'denied') return EXIT_CODES.refused_by_human;
  return REASONS[code] ?? EXIT_CODES.refused;
}

/** Those that are no refusals by policy, budget or sandbox. */
const REASONS: Readonly<Record<string, ExitCode>> = {
  'egress.gate_failed': EXIT_CODES.unenforceable,
  'gateway.cancelled': EXIT_CODES.refused_by_human,
  'gateway.changed_meanwhile': EXIT_CODES.conflict,
  'gateway.fault': EXIT_CODES.internal,
  'gateway.invalid_input': EXIT_CODES.usage,
  'gateway.not_recorded': EXIT_CODES.internal,
  'gateway.unknown_tool': EXIT_CODES.not_found,
  'sandbox.changed_since_approved': EXIT_CODES.conflict,
  'sandbox.executable_not_found': EXIT_CODES.not_found,
  'sandbox.invalid_command': EXIT_CODES.usage,
  'sandbox.launcher_missing': EXIT_CODES.unenforceable,
  'sandbox.start_failed': EXIT_CODES.unenforceable,
  'sandbox.unsupported': EXIT_CODES.unenforceable,
};
