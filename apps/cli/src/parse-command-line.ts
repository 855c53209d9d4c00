import { nearestName } from '@palyra/config/home';
import { visibleText } from '@palyra/primitives';
import { Command, CommanderError } from 'commander';
import { CliError } from './cli-error.ts';
import type { CommandDefinition, CommandInput } from './command.ts';
import { GLOBAL_OPTIONS, type HelpTopic, nounOf } from './render/help.ts';

/** What was asked for. `home` is as it was typed. */
export type Invocation =
  | { readonly kind: 'version' }
  | { readonly kind: 'help'; readonly topic: HelpTopic }
  | {
      readonly kind: 'run';
      readonly command: CommandDefinition;
      readonly input: CommandInput;
      readonly home: string | undefined;
    };

/** Asked before parsing, because a command line that does not parse must answer in the form it was asked in. */
export function wantsJson(argv: readonly string[]): boolean {
  return beforeDashes(argv).includes('--json');
}

/** Throws `CliError`. Global options may stand anywhere before `--`; what follows it belongs to the command. */
export function parseCommandLine(argv: readonly string[], commands: readonly CommandDefinition[]): Invocation {
  const own = beforeDashes(argv);
  const passedOn = argv.slice(own.length);
  const program = quiet(new Command('palyra'));
  for (const [flags] of GLOBAL_OPTIONS) program.option(flags.replace(/ ([A-Z]+)$/, ' <$1>'));

  const { operands, unknown } = asCliError(GLOBAL_FLAGS, () => program.parseOptions([...own]));
  const { help, version, home } = program.opts<{ help?: true; version?: true; home?: string }>();
  refuseDashes(home);
  if (version === true) return { kind: 'version' };

  const isHelpCommand = operands[0] === 'help';
  const words = isHelpCommand ? operands.slice(1) : operands;
  const topic = findTopic(words, commands);
  if (help === true || isHelpCommand) return { kind: 'help', topic };
  return toRun({ topic, words, unknown, passedOn, home }, commands);
}

interface Parts {
  readonly topic: HelpTopic;
  readonly words: readonly string[];
  readonly unknown: readonly string[];
  readonly passedOn: readonly string[];
  readonly home: string | undefined;
}

function toRun({ topic, words, unknown, passedOn, home }: Parts, commands: readonly CommandDefinition[]): Invocation {
  if (topic.kind !== 'command' && unknown[0] !== undefined) throw unknownOption(unknown[0], GLOBAL_FLAGS);
  switch (topic.kind) {
    case 'program':
      if (passedOn.length === 0) return { kind: 'help', topic };
      throw new CliError('cli.missing_command', 'There is no command before "--".', { fix: SEE_HELP });
    case 'noun': {
      const verbs = commands.filter((command) => nounOf(command) === topic.noun).map(verbOf);
      throw new CliError('cli.missing_command', `"palyra ${topic.noun}" needs one of: ${verbs.join(', ')}.`, {
        fix: `"palyra ${topic.noun} --help" says what they do.`,
      });
    }
    case 'command': {
      const rest = words.slice(topic.command.name.split(' ').length);
      return {
        kind: 'run',
        command: topic.command,
        input: readInput(topic.command, [...rest, ...unknown, ...passedOn]),
        home,
      };
    }
  }
}

const SEE_HELP = '"palyra --help" lists the commands.';

function findTopic(words: readonly string[], commands: readonly CommandDefinition[]): HelpTopic {
  const [noun, verb] = words;
  if (noun === undefined) return { kind: 'program' };

  const command = commands.find(({ name }) => name === noun) ?? commands.find(({ name }) => name === `${noun} ${verb}`);
  if (command !== undefined) return { kind: 'command', command };

  const siblings = commands.filter((candidate) => nounOf(candidate) === noun);
  if (siblings.length > 0 && verb === undefined) return { kind: 'noun', noun };
  throw unknownCommand(noun, siblings.length === 0 ? undefined : verb, commands);
}

function unknownCommand(noun: string, verb: string | undefined, commands: readonly CommandDefinition[]): CliError {
  const written = visibleText(verb === undefined ? noun : `${noun} ${verb}`, { maxCharacters: 60 });
  const nearest = verb === undefined ? nearestNoun(noun, commands) : nearestVerb(noun, verb, commands);
  const fix = nearest === undefined ? SEE_HELP : `Did you mean "palyra ${nearest}"?`;
  return new CliError('cli.unknown_command', `There is no command "${written}".`, { fix });
}

/** Someone who types `palyra check` knows what they want, though not where it is. */
function nearestNoun(written: string, commands: readonly CommandDefinition[]): string | undefined {
  return (
    nearestName(written, commands.map(nounOf)) ??
    commands.find((command) => verbOf(command) === written)?.name ??
    nearestName(
      written,
      commands.map(({ name }) => name.replace(' ', '-')),
    )?.replace('-', ' ')
  );
}

function nearestVerb(noun: string, written: string, commands: readonly CommandDefinition[]): string | undefined {
  const verbs = commands.filter((command) => nounOf(command) === noun).map(verbOf);
  const verb = nearestName(written, verbs);
  return verb === undefined ? undefined : `${noun} ${verb}`;
}

function readInput(definition: CommandDefinition, args: readonly string[]): CommandInput {
  const parser = quiet(new Command(definition.name))
    .allowExcessArguments(false)
    .action(() => undefined);
  for (const { name, isRequired, isVariadic } of definition.arguments ?? []) {
    const shown = isVariadic === true ? `${name}...` : name;
    parser.argument(isRequired ? `<${shown}>` : `[${shown}]`);
  }
  for (const { flags, summary, isRepeatable } of definition.options ?? []) {
    if (isRepeatable === true) parser.option(flags, summary, collect, []);
    else parser.option(flags, summary);
  }

  const flags = [...parser.options.map((option) => option.long ?? option.flags), ...GLOBAL_FLAGS];
  asCliError(flags, () => parser.parse([...args], { from: 'user' }));
  const taken = parser.processedArgs as (string | readonly string[] | undefined)[];
  return {
    arguments: taken.map((each) => (typeof each === 'string' ? each : undefined)),
    rest: taken.flatMap((each) => (typeof each === 'object' ? each : [])),
    options: parser.opts(),
  };
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function quiet(command: Command): Command {
  return command
    .exitOverride()
    .configureOutput({ writeOut: () => undefined, writeErr: () => undefined })
    .helpOption(false)
    .helpCommand(false)
    .showSuggestionAfterError(false);
}

const GLOBAL_FLAGS = GLOBAL_OPTIONS.map(([flags]) => /--[a-z]+/.exec(flags)?.[0] ?? flags);

/** Commander's errors carry codes for programs, and what was typed only in quotes inside the message. */
function asCliError<Result>(flags: readonly string[], act: () => Result): Result {
  try {
    return act();
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    throw translate(thrown, flags);
  }
}

function translate(error: CommanderError, flags: readonly string[]): CliError {
  const message = error.message.replace(/^error: /, '');
  const quoted = /'(.*)'/s.exec(message)?.[1] ?? '';
  switch (error.code) {
    case 'commander.unknownOption':
      return unknownOption(quoted, flags);
    case 'commander.missingArgument':
      return new CliError('cli.missing_argument', `The argument ${quoted} is missing.`, { fix: SEE_COMMAND_HELP });
    case 'commander.optionMissingArgument':
      return new CliError('cli.missing_value', `The option ${quoted.replaceAll(/[<>]/g, '')} needs a value.`, {
        fix: SEE_COMMAND_HELP,
      });
    case 'commander.excessArguments':
      return new CliError('cli.too_many_arguments', 'There are more arguments than the command takes.', {
        fix: SEE_COMMAND_HELP,
      });
    default:
      return new CliError('cli.invalid_usage', `${visibleText(message)}.`, { fix: SEE_COMMAND_HELP });
  }
}

const SEE_COMMAND_HELP = 'The same command with --help says what it takes.';

function unknownOption(written: string, flags: readonly string[]): CliError {
  const nearest = nearestName(written.replace(/=.*$/s, ''), flags);
  const shown = visibleText(written, { maxCharacters: 60 });
  const fix = nearest === undefined ? SEE_COMMAND_HELP : `Did you mean ${nearest}?`;
  return new CliError('cli.unknown_option', `There is no option ${shown} here.`, { fix });
}

/** `--home --json` names a directory only by mistake. */
function refuseDashes(home: string | undefined): void {
  if (home === undefined || (home !== '' && !home.startsWith('-'))) return;
  throw new CliError('cli.missing_value', 'The option --home needs a directory.', {
    fix: 'Write --home DIR; for a name that starts with - write ./-name.',
  });
}

function verbOf(command: CommandDefinition): string {
  return command.name.split(' ').slice(1).join(' ');
}

function beforeDashes(argv: readonly string[]): readonly string[] {
  const dashes = argv.indexOf('--');
  return dashes === -1 ? argv : argv.slice(0, dashes);
}
