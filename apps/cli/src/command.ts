import type { Readable } from 'node:stream';
import type { EnvironmentVariables } from '@palyra/config';
import type { Paint } from './render/paint.ts';

/** The headings of `palyra --help`, in its order. */
export const COMMAND_GROUPS = ['Configuration', 'Policy'] as const;
export type CommandGroup = (typeof COMMAND_GROUPS)[number];

/** One command, everything about it: parsing, help and the command table follow from this. */
export interface CommandDefinition {
  /** `noun verb`, or a single word. */
  readonly name: string;
  readonly group: CommandGroup;
  /** One line, an imperative without a full stop, at most 50 characters: the list in `--help` has 80 columns. */
  readonly summary: string;
  /** What the command's own `--help` adds to the summary. */
  readonly details?: string;
  readonly arguments?: readonly ArgumentDefinition[];
  readonly options?: readonly OptionDefinition[];
  run(input: CommandInput, context: CommandContext): Promise<CommandResult>;
}

export interface ArgumentDefinition {
  /** In capitals, as help shows it. */
  readonly name: string;
  readonly summary: string;
  readonly isRequired: boolean;
}

export interface OptionDefinition {
  /** As commander writes them: `--force` or `--ttl <duration>`. */
  readonly flags: string;
  readonly summary: string;
}

export interface CommandInput {
  /** In the order of the definition; those not given are absent. */
  readonly arguments: readonly (string | undefined)[];
  readonly options: Readonly<Record<string, unknown>>;
}

/** What a command may touch of the process it runs in. */
export interface CommandContext {
  /** `--home`, as it was typed. */
  readonly home: string | undefined;
  readonly variables: EnvironmentVariables;
  /** Throws when this user has none. */
  userHome(): string;
  /** A function, because merely touching standard input opens it. */
  openStdin(): Readable;
  /** A function, because a process can outlive its directory, and most commands never ask. */
  workingDirectory(): string;
  /** Aborted when the person at the keyboard wants to stop. */
  readonly signal: AbortSignal;
}

/** One outcome, told to a program or to a person: a command never prints by itself. */
export interface CommandResult {
  readonly json: unknown;
  render(paint: Paint): string;
  /** Sentences for a person on standard error; a program finds them in `json`. */
  readonly warnings?: readonly string[];
}
