import { safeText } from '@palyra/primitives';
import type { EndedCall } from './exit-of-outcome.ts';

/** What went wrong, for a program, for people, and what would help. */
export interface SaidError {
  readonly code: string;
  readonly message: string;
  readonly fix?: string | undefined;
}

/** Marks a word by what it is; whoever has no colours returns it as it is. */
export type Mark = (style: 'error' | 'fix', text: string) => string;

const plain: Mark = (_style, text) => text;

/** As `palyra` says it on standard error. */
export function errorWords({ code, message, fix }: SaidError, mark: Mark = plain): string {
  const help = fix === undefined ? '' : `${mark('fix', 'fix:')} ${safeText(fix)}\n`;
  return `${mark('error', `error[${code}]:`)} ${safeText(message)}\n${help}`;
}

/** Why a command has no exit code of its own; nothing where it has one. */
export function whyWords({ outcome }: EndedCall, mark: Mark = plain): string {
  const { kind, code = 'gateway.fault', message = '', fix, exit_code: exitCode } = outcome;
  if (kind === 'completed' || (kind === 'failed' && exitCode !== undefined)) return '';
  return errorWords({ code, message, fix }, mark);
}
