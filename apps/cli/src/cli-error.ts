import { AppError } from '@palyra/primitives';

/** Codes are API: add one, never rename one. */
export const CLI_ERRORS = {
  'cli.answer_refused': 'An answer to a question does not count.',
  'cli.answered_already': 'The question was answered, or changed, before.',
  'cli.ambiguous_id': 'Several ids end in what was typed.',
  'cli.demo_failed': 'The demo did not go as told.',
  'cli.daemon_failed': 'palyrad was started and does not listen.',
  'cli.daemon_not_running': 'palyrad does not run on this home.',
  'cli.in_a_box': 'A command for people was given inside the box of an agent.',
  'cli.invalid_option': 'An option has a value that cannot be used.',
  'cli.invalid_usage': 'The command line does not fit together.',
  'cli.missing_argument': 'The command needs an argument that was not given.',
  'cli.missing_command': 'The command line stops before it names a command.',
  'cli.missing_value': 'An option needs a value that was not given.',
  'cli.file_exists': 'A file is already where the output should go.',
  'cli.file_missing': 'A file that was named is not there.',
  'cli.file_unreadable': 'A file that was named cannot be read.',
  'cli.no_directory': 'A path is relative to a directory that is not there.',
  'cli.no_terminal': 'The command needs a person at a terminal.',
  'cli.not_available': 'What was asked for is not built yet.',
  'cli.not_found': 'There is nothing with the id that was typed.',
  'cli.not_confirmed': 'A person was to confirm it and did not, or there was none to ask.',
  'cli.not_understood': 'palyrad says something in a form that this version does not know.',
  'cli.output_failed': 'The output could not be written.',
  'cli.preset_differs': 'The home has another policy preset than the one that was asked for.',
  'cli.secret_in_arguments': 'A value that may be secret was given where others can see it.',
  'cli.settings_changed': 'The settings of an agent were changed while a person was asked.',
  'cli.too_many_arguments': 'The command takes fewer arguments.',
  'cli.unknown_command': 'There is no such command.',
  'cli.workspace_unknown': 'The folder is not one that agents may work in.',
  'cli.unknown_format': 'The settings of an agent are not as they are known here, and were left alone.',
  'cli.unknown_option': 'The command has no such option.',
} as const;

export type CliErrorCode = keyof typeof CLI_ERRORS;

export class CliError extends AppError<CliErrorCode> {}
