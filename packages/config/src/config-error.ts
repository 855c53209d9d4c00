import { AppError, type AppErrorOptions } from '@palyra/primitives';
import type { TextPosition } from './text-position.ts';

/** Codes are API: add one, never rename one. */
export const CONFIG_ERRORS = {
  'config.edit_refused': 'The text cannot be edited without touching more than the one setting.',
  'config.file_exists': 'There is a file already, and it is not overwritten.',
  'config.invalid_environment': 'An environment variable holds a value that cannot be used.',
  'config.invalid_home': 'The home is not a usable path.',
  'config.invalid_toml': 'The file is not TOML.',
  'config.invalid_value': 'A setting has the wrong type or is out of range.',
  'config.unknown_key': 'The file holds a key that nothing reads.',
  'config.unreadable': 'The file is there but cannot be read as a configuration.',
  'config.unsafe_home': 'Other users of this machine could reach into the home.',
  'config.unsafe_permissions': 'Other users of this machine could change the file.',
  'config.write_failed': 'The file could not be written; what was there before is unchanged.',
} as const;

export type ConfigErrorCode = keyof typeof CONFIG_ERRORS;

/** One mistake in a file, at the place where a person corrects it. */
export interface ConfigProblem extends TextPosition {
  readonly code: ConfigErrorCode;
  /** The dotted name of the setting or section; absent when the text is not TOML at all. */
  readonly key: string | undefined;
  readonly message: string;
  readonly fix: string;
}

export interface ConfigErrorOptions extends AppErrorOptions {
  readonly problems?: readonly ConfigProblem[];
}

export class ConfigError extends AppError<ConfigErrorCode> {
  /** Every mistake found in the text, in its order; empty when the fault is not in the text. */
  readonly problems: readonly ConfigProblem[];

  constructor(code: ConfigErrorCode, message: string, options: ConfigErrorOptions = {}) {
    super(code, message, options);
    this.problems = options.problems ?? [];
  }
}

/** A longer list helps nobody; all of them stay in `problems`. */
const MOST_PROBLEMS_SHOWN = 20;

/** One error for the whole text, so that a person corrects it once and not once per mistake. */
export function textError(file: string, problems: readonly [ConfigProblem, ...ConfigProblem[]]): ConfigError {
  const [first] = problems;
  if (problems.length === 1) {
    const message = `${file}:${first.line}:${first.column}: ${first.message}`;
    return new ConfigError(first.code, message, { fix: first.fix, problems });
  }

  const shown = problems.slice(0, MOST_PROBLEMS_SHOWN);
  const width = Math.max(...shown.map((problem) => place(problem).length));
  const lines = shown.flatMap((problem) => [
    `  ${place(problem).padEnd(width)}  ${problem.message}`,
    `  ${' '.repeat(width)}  ${problem.fix}`,
  ]);
  const rest = problems.length - shown.length;
  if (rest > 0) lines.push(`  and ${rest} more`);
  const message = [`${file} has ${problems.length} problems:`, ...lines].join('\n');
  return new ConfigError(first.code, message, { fix: 'Correct the lines named above.', problems });
}

function place(problem: ConfigProblem): string {
  return `${problem.line}:${problem.column}`;
}
