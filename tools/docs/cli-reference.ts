import { COMMAND_GROUPS, type CommandDefinition } from '../../apps/cli/src/command.ts';
import { loadCommands } from '../../apps/cli/src/command-table.ts';
import { GLOBAL_OPTIONS } from '../../apps/cli/src/render/help.ts';

/** docs/reference/cli.md, from the table of commands alone. */
export async function renderCliReference(): Promise<string> {
  const all = await loadCommands();
  const groups = COMMAND_GROUPS.flatMap((group) => {
    const commands = all.filter((command) => command.group === group && command.isAlias !== true);
    return commands.length === 0 ? [] : [`## ${group}`, ...commands.map(renderCommand)];
  });
  return [INTRODUCTION, table(GLOBAL_OPTIONS), EXITS, ...groups].join('\n\n').concat('\n');
}

const INTRODUCTION = `<!-- Generated from apps/cli/src/command-table.ts by \`npm run docs\`; do not edit. -->

# palyra on the command line

The first command makes the home and starts palyrad when it needs it. Human output by default, colour only on a terminal
(\`NO_COLOR\` is honoured); \`--json\` prints one JSON document, or one a line for streams, and nothing else on standard output.
Errors go to standard error as \`error[code]: sentence\` and \`fix: sentence\`, with \`--json\` as
\`{"error":{"code","message","fix"}}\`; [errors.md](errors.md) lists the codes. Any id may be given by its last 4 or more
characters. \`palyra run\` is \`palyra exec\`.`;

const EXITS = `| Exit | Meaning | Exit | Meaning |
|---|---|---|---|
| 0 | done | 5 | this host cannot enforce it |
| 1 | internal fault | 6 | refused by policy, budget or sandbox |
| 2 | bad usage or input | 7 | conflict or precondition |
| 3 | not authenticated or not permitted | 8 | not found |
| 4 | daemon unreachable | 9 | refused by a human, or nobody answered |

\`exec\` returns the command’s own exit code; there ours are 240 higher (244 unreachable, 246 refused, 249 refused by a human).`;

function renderCommand(command: CommandDefinition): string {
  const args = command.arguments ?? [];
  const words = args.map(({ name, isRequired, isVariadic }) => {
    const shown = isVariadic === true ? `-- ${name}...` : name;
    return isRequired ? shown : `[${shown}]`;
  });
  const rows = [
    ...args.map(({ name, summary }) => [name, summary] as const),
    ...(command.options ?? []).map(({ flags, summary }) => [flags, summary] as const),
  ];
  return [
    `### palyra ${[command.name, ...words].join(' ')}`,
    `${command.summary}.${command.details === undefined ? '' : ` ${command.details}`}`,
    ...(rows.length === 0 ? [] : [table(rows)]),
  ].join('\n\n');
}

function table(rows: readonly (readonly [string, string])[]): string {
  const cell = (text: string) => text.replaceAll('|', '\\|');
  return ['| | |', '|---|---|', ...rows.map(([name, text]) => `| \`${cell(name)}\` | ${cell(text)} |`)].join('\n');
}
