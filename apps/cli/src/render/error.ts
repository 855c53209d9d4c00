import { inspect } from 'node:util';
import { errorWords } from '@palyra/agents/exits';
import { AppError, describeError } from '@palyra/primitives';
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
  'This is a fault in Palyra. Please report it where its source is hosted, with what the same command prints under PALYRA_LOG=debug.';

/** What goes to standard error: two lines for a person, or one JSON document for a program. */
export function renderError(thrown: unknown, { asJson, withStack, paint }: ErrorView): string {
  const { code, message, fix: described } = describeError(thrown);
  const fix = code === 'internal' ? INTERNAL_FIX : described;
  // A person's mistake needs no stack, however much the log is told to say.
  const stack = withStack && code === 'internal' ? stackOf(thrown) : undefined;
  if (asJson) {
    return renderJson({ error: { code, message, fix: fix ?? null, problems: problemsOf(thrown), stack } });
  }
  const below = stack === undefined ? '' : `${paint('faint', safeText(stack))}\n`;
  return `${errorWords({ code, message, fix }, paint)}${below}`;
}

export function renderWarning(sentence: string, paint: Paint): string {
  return `${paint('warning', 'warning:')} ${safeText(sentence)}\n`;
}

/** Told by their shape: importing the class of every package's errors would load every package for every command. */
function problemsOf(thrown: unknown): readonly unknown[] | undefined {
  if (!(thrown instanceof AppError) || !('problems' in thrown) || !Array.isArray(thrown.problems)) return undefined;
  return thrown.problems.length > 0 ? thrown.problems : undefined;
}

function stackOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return `thrown: ${inspect(thrown)}`;
  const cause = thrown.cause instanceof Error ? `\ncaused by: ${thrown.cause.stack ?? thrown.cause.message}` : '';
  return `${thrown.stack ?? thrown.message}${cause}`;
}
