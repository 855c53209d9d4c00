import { type ArgumentDefinition, COMMAND_GROUPS, type CommandDefinition, type CommandGroup } from '../command.ts';
import type { Paint } from './paint.ts';
import { wrap } from './wrap.ts';

/** What `--help` is about: everything, the commands of one noun, or one command. */
export type HelpTopic =
  | { readonly kind: 'program' }
  | { readonly kind: 'noun'; readonly noun: string }
  | { readonly kind: 'command'; readonly command: CommandDefinition };

export interface HelpInput {
  readonly topic: HelpTopic;
  readonly commands: readonly CommandDefinition[];
  readonly version: string;
}

/** Understood before and after every command's name. */
export const GLOBAL_OPTIONS: readonly (readonly [flags: string, summary: string])[] = [
  ['--home DIR', 'The state directory (else PALYRA_HOME, else ~/.palyra)'],
  ['--json', 'Print one JSON document and nothing else'],
  ['-h, --help', 'Explain a command: palyra COMMAND --help'],
  ['-V, --version', 'Print the version'],
];

/** The smallest terminal that people still meet; the last line is the next prompt. */
const SCREEN_LINES = 23;
const SCREEN_COLUMNS = 80;

export function renderHelp(given: HelpInput, paint: Paint): string {
  const { topic } = given;
  const input = { ...given, commands: given.commands.filter(({ isAlias }) => isAlias !== true) };
  switch (topic.kind) {
    case 'program':
      return programHelp(input, paint);
    case 'noun':
      return nounHelp(topic.noun, input, paint);
    case 'command':
      return commandHelp(topic.command, paint);
  }
}

/** The same for programs: agents read this better than aligned text. */
export function helpAsJson({ topic, commands, version }: HelpInput): unknown {
  const listed = commands.filter((command) => isAbout(topic, command));
  return {
    version,
    commands: listed.map(({ name, group, summary, arguments: args = [], options = [] }) => ({
      name,
      group,
      summary,
      arguments: args.map((argument) => ({
        name: argument.name,
        required: argument.isRequired,
        summary: argument.summary,
      })),
      options: options.map(({ flags, summary: meaning }) => ({ flags, summary: meaning })),
    })),
    options: GLOBAL_OPTIONS.map(([flags, summary]) => ({ flags, summary })),
  };
}

function isAbout(topic: HelpTopic, command: CommandDefinition): boolean {
  switch (topic.kind) {
    case 'program':
      return true;
    case 'noun':
      return nounOf(command) === topic.noun;
    case 'command':
      return command === topic.command;
  }
}

function programHelp(input: HelpInput, paint: Paint): string {
  const usage = `${paint('title', 'Usage:')} palyra COMMAND [ARGUMENT...] [OPTION...]`;
  const options = block('Options', GLOBAL_OPTIONS, paint);
  const page = (middle: readonly string[]) =>
    lines([`palyra ${input.version}, the command line of Palyra`, '', usage, '', ...middle, ...options]);

  // With many commands one line each would scroll away: then one for each noun with its verbs, then with the heading
  // beside them, and at last one for each group.
  const pages = [groupsInDetail, groupsByNoun, groupsBeside, groupsInBrief].map((show) =>
    page(show(input.commands, paint)),
  );
  return pages.find((each) => each.split('\n').length - 1 <= SCREEN_LINES) ?? (pages.at(-1) as string);
}

function groupsInDetail(commands: readonly CommandDefinition[], paint: Paint): readonly string[] {
  const width = Math.max(0, ...commands.map((command) => signature(command).length));
  return COMMAND_GROUPS.flatMap((group) => {
    const rows = commands
      .filter((command) => command.group === group)
      .map((command): readonly [string, string] => [signature(command).padEnd(width), command.summary]);
    return rows.length === 0 ? [] : [...block(group, rows, paint), ''];
  });
}

type Row = readonly [noun: string, line: string];

function groupsByNoun(commands: readonly CommandDefinition[], paint: Paint): readonly string[] {
  return COMMAND_GROUPS.flatMap((group) => {
    const rows = nounRows(group, commands, SCREEN_COLUMNS - 4);
    return rows.length === 0 ? [] : [...block(group, rows, paint), ''];
  });
}

function groupsBeside(commands: readonly CommandDefinition[], paint: Paint): readonly string[] {
  const width = Math.max(...COMMAND_GROUPS.map((group) => group.length));
  const rows = COMMAND_GROUPS.flatMap((group) =>
    nounRows(group, commands, SCREEN_COLUMNS - width - 4).map(([noun, line], index) => {
      const heading = (index === 0 ? group : '').padEnd(width);
      return `${paint('title', heading)}  ${paint('name', noun)}  ${line}`;
    }),
  );
  return [...rows, ''];
}

/** One line for each noun of a group, or several when its verbs are many. Nouns are as wide as the longest of all groups. */
function nounRows(group: CommandGroup, commands: readonly CommandDefinition[], columns: number): readonly Row[] {
  const width = Math.max(0, ...commands.map((command) => nounOf(command).length));
  const ofGroup = commands.filter((command) => command.group === group);
  return [...new Set(ofGroup.map(nounOf))].flatMap((noun) => {
    const about = ofGroup.filter((command) => nounOf(command) === noun);
    return wrap(whatNounDoes(noun, about), columns - width).map(
      (line, index): Row => [(index === 0 ? noun : '').padEnd(width), line],
    );
  });
}

function whatNounDoes(noun: string, commands: readonly CommandDefinition[]): string {
  const [only] = commands;
  if (commands.length === 1 && only?.name === noun) return only.summary;
  return commands.map(({ name }) => name.slice(noun.length + 1)).join(', ');
}

function groupsInBrief(commands: readonly CommandDefinition[], paint: Paint): readonly string[] {
  const width = Math.max(...COMMAND_GROUPS.map((group) => group.length));
  const rows = COMMAND_GROUPS.flatMap((group) => {
    const nouns = new Set(commands.filter((command) => command.group === group).map(nounOf));
    return wrap([...nouns].join(', '), SCREEN_COLUMNS - width - 2).map((line, index) => {
      return `${paint('title', (index === 0 ? group : '').padEnd(width))}  ${line}`;
    });
  });
  return [...rows, ''];
}

function nounHelp(noun: string, { commands }: HelpInput, paint: Paint): string {
  const rows = commands
    .filter((command) => nounOf(command) === noun)
    .map((command): readonly [string, string] => [signature(command), command.summary]);
  const usage = `${paint('title', 'Usage:')} palyra ${noun} COMMAND [ARGUMENT...] [OPTION...]`;
  return lines([usage, '', ...block('Commands', rows, paint), '', ...block('Options', GLOBAL_OPTIONS, paint)]);
}

function commandHelp(command: CommandDefinition, paint: Paint): string {
  const args = (command.arguments ?? []).map((argument): readonly [string, string] => [
    argument.name,
    argument.summary,
  ]);
  const own = (command.options ?? []).map((option): readonly [string, string] => [option.flags, option.summary]);
  const details = command.details === undefined ? [] : ['', ...wrap(command.details, SCREEN_COLUMNS)];
  return lines([
    `${paint('title', 'Usage:')} palyra ${signature(command)} [OPTION...]`,
    '',
    `${command.summary}.`,
    ...details,
    '',
    ...(args.length === 0 ? [] : [...block('Arguments', args, paint), '']),
    ...block('Options', [...own, ...GLOBAL_OPTIONS], paint),
  ]);
}

function block(title: string, rows: readonly (readonly [string, string])[], paint: Paint): readonly string[] {
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  return [
    paint('title', title),
    ...rows.map(([name, summary]) => `  ${paint('name', name.padEnd(width))}  ${summary}`),
  ];
}

function signature(command: CommandDefinition): string {
  const args = (command.arguments ?? []).map((argument) =>
    argument.isRequired ? nameOf(argument) : `[${nameOf(argument)}]`,
  );
  return [command.name, ...args].join(' ');
}

function nameOf({ name, isVariadic }: ArgumentDefinition): string {
  return isVariadic === true ? `-- ${name}...` : name;
}

export function nounOf(command: CommandDefinition): string {
  return command.name.split(' ', 1).join('');
}

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`;
}
