import { SandboxError } from '../sandbox-error.ts';

/**
 * SECURITY: T-20 — a value that is missing is not 0 and not "none": what cannot be read counts as not enforced.
 * `detail` names fields, never values: they could hold host paths.
 */
export function unreadable(text: string, detail: string): SandboxError {
  return new SandboxError('sandbox.enforcement_failed', `What the kernel says in ${text} cannot be read: ${detail}.`, {
    fix: 'Nothing was run. Report this message together with the output of `uname -r`.',
  });
}

/** Lines without their ends. A text whose last line has no end was cut off. */
export function wholeLines(name: string, text: string): readonly string[] {
  if (!text.endsWith('\n')) throw unreadable(name, text === '' ? 'it is empty' : 'its last line is cut off');
  return text.slice(0, -1).split('\n');
}

/** Decimal, as the kernel writes it: no sign, no leading zero. */
export function wholeNumber(name: string, text: string | undefined): number {
  if (text === undefined || !/^(?:0|[1-9][0-9]{0,19})$/.test(text)) throw unreadable(name, 'a number is malformed');
  return Number(text);
}
