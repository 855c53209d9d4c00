import { CliError } from '../cli-error.ts';
import type { CommandDefinition } from '../command.ts';
import { renderCompletion, SHELLS, type Shell } from '../render/completion.ts';

/** `eval "$(palyra completion bash)"`. The commands are told when it runs, so that this file does not import their table. */
export function completionOf(commands: () => Promise<readonly CommandDefinition[]>): CommandDefinition {
  return {
    name: 'completion',
    group: 'Host',
    summary: 'Print a script that completes commands',
    details:
      'For bash: eval "$(palyra completion bash)" in ~/.bashrc. For zsh the same; for fish: palyra completion fish | source.',
    arguments: [{ name: 'SHELL', summary: SHELLS.join(', '), isRequired: true }],
    async run({ arguments: [typed] }) {
      const shell = SHELLS.find((each): each is Shell => each === typed);
      if (shell === undefined) {
        throw new CliError('cli.invalid_usage', 'There is no completion for that shell.', {
          fix: `Give one of ${SHELLS.join(', ')}.`,
        });
      }
      const script = renderCompletion(shell, await commands());
      return { json: { shell, script }, render: () => script };
    },
  };
}
