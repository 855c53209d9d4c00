import { CliError } from './cli-error.ts';

export interface NumberRange {
  /** As it is typed: `--limit`. */
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** Absent stays absent. Throws `cli.invalid_option`. */
export function wholeNumber(typed: unknown, { name, from, to }: NumberRange): number | undefined {
  if (typed === undefined) return undefined;
  const value = Number(typed);
  if (typeof typed === 'string' && /^\d{1,16}$/.test(typed) && value >= from && value <= to) return value;
  const most = to === Number.MAX_SAFE_INTEGER ? 'on' : `to ${to}`;
  throw new CliError('cli.invalid_option', `${name} takes a whole number from ${from} ${most}.`, {
    fix: 'Leave it out for the default.',
  });
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** Milliseconds since the Unix epoch, of a date, a time with its zone, or so long ago. Throws `cli.invalid_option`. */
export function momentOf(typed: unknown, name: string, now: number): number | undefined {
  if (typed === undefined) return undefined;
  const text = typeof typed === 'string' ? typed : '';
  const ago = /^(\d{1,6})([smhd])$/.exec(text);
  if (ago !== null) return now - Number(ago[1]) * (UNITS[ago[2] as string] as number);
  const moment = ISO.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(moment) && moment >= 0) return moment;
  throw new CliError('cli.invalid_option', `${name} takes a date, a time with its zone, or how long ago.`, {
    fix: 'Write 2026-11-16, 2026-11-16T08:00Z, 30m, 2h or 7d.',
  });
}

/** Milliseconds, of a time such as 30m. Absent stays absent. Throws `cli.invalid_option`. */
export function durationOf(typed: unknown, name: string): number | undefined {
  if (typed === undefined) return undefined;
  const found = /^(\d{1,6})([smhd])$/.exec(typeof typed === 'string' ? typed : '');
  if (found !== null) return Number(found[1]) * (UNITS[found[2] as string] as number);
  throw new CliError('cli.invalid_option', `${name} takes how long: a number and s, m, h or d.`, {
    fix: 'Write 30m, 1h or 7d.',
  });
}
