import { CliError } from './cli-error.ts';
import type { CommandContext } from './command.ts';

export interface Confirmation {
  /** What will happen, in sentences that end in a full stop. */
  readonly explanation: string;
  /** `--yes`. */
  readonly isGiven: boolean;
}

/** Throws `cli.not_confirmed` unless a person says yes, here or beforehand. */
export async function confirm({ explanation, isGiven }: Confirmation, context: CommandContext): Promise<void> {
  if (isGiven) return;
  const answer = await context.terminal?.ask(`${explanation}\nGo on? Type yes: `);
  if (answer?.trim().toLowerCase() === 'yes') return;
  throw new CliError('cli.not_confirmed', answer ? 'It was not confirmed.' : `Nobody confirmed it. ${explanation}`, {
    fix: 'Read what it does, and give --yes.',
  });
}
