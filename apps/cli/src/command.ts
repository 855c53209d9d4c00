import type { Readable, Writable } from 'node:stream';
import type { ExitCode } from '@palyra/agents/exits';
import type { EnvironmentVariables } from '@palyra/config';
import type { CodeAndText } from './render/code-layout.ts';
import type { Paint } from './render/paint.ts';

/** The headings of `palyra --help`, in its order. */
export const COMMAND_GROUPS = [
  'Agents',
  'Questions',
  'Daemon',
  'Policy',
  'Journal',
  'Identity',
  'Configuration',
  'Host',
] as const;
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
  /** Another name of a command that stands beside it; not in the list of `--help`. */
  readonly isAlias?: true;
  /** For commands that pass on another program's exit code: ours are this much higher, so that a script can tell them apart. */
  readonly ownExitsFrom?: number;
  run(input: CommandInput, context: CommandContext): Promise<CommandResult>;
}

export interface ArgumentDefinition {
  /** In capitals, as help shows it. */
  readonly name: string;
  readonly summary: string;
  readonly isRequired: boolean;
  /** Takes all that follow; only the last one may. They are `rest` of the input. */
  readonly isVariadic?: true;
}

export interface OptionDefinition {
  /** As commander writes them: `--force` or `--ttl <duration>`. */
  readonly flags: string;
  readonly summary: string;
  /** May be given several times; its value is the list. */
  readonly isRepeatable?: true;
}

export interface CommandInput {
  /** In the order of the definition; those not given are absent. */
  readonly arguments: readonly (string | undefined)[];
  /** What a variadic argument took. */
  readonly rest: readonly string[];
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
  /** The person at the keyboard; absent when there is none to see or answer. */
  readonly terminal?: Terminal | undefined;
  /** Aborted when the person at the keyboard wants to stop. */
  readonly signal: AbortSignal;
  /** `--json`: what goes to standard output is one document, and the command does not write there by itself. */
  readonly asJson: boolean;
  /** How wide the screen is; undefined where nobody looks at one. */
  columns(): number | undefined;
  /** The streams themselves, without a line of progress, for the few commands that pass on what another program writes. */
  openOutput(): ProgramOutput;
  /** From here on signals go to the listener and end nothing, until it is released. */
  takeSignals(listener: (name: ForwardedSignal) => void): { release(): void };
}

export interface ProgramOutput {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
}

export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };

export const FORWARDED_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
export type ForwardedSignal = (typeof FORWARDED_SIGNALS)[number];

/** Beside the outcome, and on standard error: what a person sees while a command runs. */
export interface Terminal {
  /** Replaces the line before. */
  progress(line: string): void;
  /** Stays on the screen, above progress and questions. */
  show(text: string): void;
  /** The same with a code of blocks beside or above it. False, and nothing is shown, where there is no room for all of it. */
  showCode(shown: CodeAndText): boolean;
  /** One line of answer; empty when nobody can type one, or nobody needs it any more. */
  ask(question: string, signal?: AbortSignal): Promise<string>;
  /** The same for a secret, of which nothing is shown; or nothing of what comes after a mark. */
  askHidden(question: string, shownUntil?: string): Promise<string>;
}

/** One outcome, told to a program or to a person: a command never prints by itself. */
export interface CommandResult {
  readonly json: unknown;
  render(paint: Paint): string;
  /** Sentences for a person on standard error; a program finds them in `json`. */
  readonly warnings?: readonly string[];
  /** For a person, on standard error, after everything else. Made safe already. */
  readonly trailer?: string;
  /** In the place of both, for what may be too long to hold: it goes out as it comes, to people and programs alike. */
  readonly stream?: AsyncIterable<string>;
  /** In the place of what is rendered where no person reads it: a pipe or a file gets them as they are. */
  readonly bytes?: Uint8Array;
  /** Other than 0 when the command did what it should and its answer is a bad one. */
  readonly exitCode?: ExitCode | ProgramExit;
}

/** Of another program, which a command ran and whose answer it passes on: any number from 0 to 255. */
export interface ProgramExit {
  readonly program: number;
}
