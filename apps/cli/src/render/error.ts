import { inspect } from 'node:util';
import { ConfigError } from '@palyra/config';
import { describeError } from '@palyra/primitives';
import { renderJson } from './json.ts';
import type { Paint } from './paint.ts';
import { safeText } from './safe-text.ts';

export interface ErrorView {
  readonly asJson: boolean;
  /** Stacks are for those who mend Palyra; they ask for them with the log level. */
  readonly withStack: boolean;
  readonly paint: Paint;
}

const INTERNAL_FIX =
  'This is a fault in Palyra. Please report it as CONTRIBUTING.md says, with what the same command prints under PALYRA_LOG=debug.';

/** What goes to standard error: two lines for a person, or one JSON document for a program. */
export function renderError(thrown: unknown, { asJson, withStack, paint }: ErrorView): string {
  const { code, message, fix: described } = describeError(thrown);
  const fix = code === 'internal' ? INTERNAL_FIX : described;
  const stack = withStack ? stackOf(thrown) : undefined;
  if (asJson) {
    const problems = thrown instanceof ConfigError && thrown.problems.length > 0 ? thrown.problems : undefined;
    return renderJson({ error: { code, message, fix: fix ?? null, problems, stack } });
  }
  const lines = [`${paint('error', `error[${code}]:`)} ${safeText(message)}`];
  if (fix !== undefined) lines.push(`${paint('fix', 'fix:')} ${safeText(fix)}`);
  if (stack !== undefined) lines.push(paint('faint', safeText(stack)));
  return `${lines.join('\n')}\n`;
}

export function renderWarning(sentence: string, paint: Paint): string {
  return `${paint('warning', 'warning:')} ${safeText(sentence)}\n`;
}

function stackOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return `thrown: ${inspect(thrown)}`;
  const cause = thrown.cause instanceof Error ? `\ncaused by: ${thrown.cause.stack ?? thrown.cause.message}` : '';
  return `${thrown.stack ?? thrown.message}${cause}`;
}
