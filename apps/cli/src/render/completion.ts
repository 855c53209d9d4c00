import type { CommandDefinition } from '../command.ts';
import { GLOBAL_OPTIONS } from './help.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Words only, made from the table of commands: nothing is asked of palyrad while somebody types. */
export function renderCompletion(shell: Shell, commands: readonly CommandDefinition[]): string {
  const rows = commands.map((command) => ({
    words: command.name.split(' '),
    flags: [
      ...(command.options ?? []).flatMap(({ flags }) => longOf(flags)),
      ...GLOBAL_OPTIONS.flatMap(([flags]) => longOf(flags)),
    ],
    summary: command.summary,
  }));
  return shell === 'fish' ? fish(rows) : bash(rows, shell);
}

interface Row {
  readonly words: readonly string[];
  readonly flags: readonly string[];
  readonly summary: string;
}

function longOf(flags: string): readonly string[] {
  return /--[a-z-]+/.exec(flags) ?? [];
}

/** zsh reads bash's completions. */
function bash(rows: readonly Row[], shell: Shell): string {
  const nouns = unique(rows.map(({ words: [noun = ''] }) => noun));
  const cases = nouns.map((noun) => {
    const verbs = rows.filter(({ words }) => words[0] === noun && words.length > 1);
    if (verbs.length === 0) return `    ${noun}) words="${flagsOf(rows, [noun])}" ;;`;
    const inner = verbs.map(({ words: [, verb = ''] }) => `      ${verb}) words="${flagsOf(rows, [noun, verb])}" ;;`);
    const names = verbs.map(({ words: [, verb] }) => verb).join(' ');
    return [`    ${noun}) case "\${COMP_WORDS[2]}" in`, ...inner, `      *) words="${names}" ;;`, '    esac ;;'].join(
      '\n',
    );
  });
  return [
    ...(shell === 'zsh' ? ['autoload -U +X bashcompinit && bashcompinit'] : []),
    '_palyra() {',
    `  local current="\${COMP_WORDS[COMP_CWORD]}" words=""`,
    // What follows -- is another program's.
    `  local word; for word in "\${COMP_WORDS[@]:0:COMP_CWORD}"; do [ "$word" = -- ] && return; done`,
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    words="${nouns.join(' ')}"`,
    `  else case "\${COMP_WORDS[1]}" in`,
    ...cases,
    '  esac; fi',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    'complete -o default -F _palyra palyra',
    '',
  ].join('\n');
}

function flagsOf(rows: readonly Row[], words: readonly string[]): string {
  return rows.find((row) => row.words.join(' ') === words.join(' '))?.flags.join(' ') ?? '';
}

function fish(rows: readonly Row[]): string {
  const lines = rows.flatMap(({ words: [noun = '', verb], flags, summary }) => {
    const said = summary.replaceAll("'", '’');
    const name =
      verb === undefined
        ? `complete -c palyra -n __fish_use_subcommand -a ${noun} -d '${said}'`
        : `complete -c palyra -n '__fish_seen_subcommand_from ${noun}' -a ${verb} -d '${said}'`;
    return [
      name,
      ...flags.map((flag) => `complete -c palyra -n '__fish_seen_subcommand_from ${verb ?? noun}' -l ${flag.slice(2)}`),
    ];
  });
  const nouns = unique(rows.filter(({ words }) => words.length > 1).map(({ words: [noun = ''] }) => noun));
  return `${[...nouns.map((noun) => `complete -c palyra -n __fish_use_subcommand -a ${noun}`), ...lines].join('\n')}\n`;
}

function unique(words: readonly string[]): readonly string[] {
  return [...new Set(words)];
}
