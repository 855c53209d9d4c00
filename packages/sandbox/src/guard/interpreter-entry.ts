import type { CodeOptions } from './code-options.ts';

/**
 * Programs that run code which the command brings along. A guardrail on the command line and no wall: no list of
 * programs is complete, and a program's own configuration files are not read here.
 */
export type InterpreterEntry =
  /** By nature: no use of it is harmless enough to tell apart. */
  | {
      readonly kind: 'always';
      readonly names: readonly string[];
      readonly does: string;
      /** Where the code stands, for the refusal's text only. */
      readonly evaluates?: CodeOptions;
      /** Absent where the first operand is no script, or where that is not known. */
      readonly operand?: ScriptOperand;
    }
  /** Only with certain options or subcommands. */
  | {
      readonly kind: 'with';
      readonly names: readonly string[];
      readonly does: string;
      readonly options: CodeOptions;
      readonly subcommands?: Subcommands;
      /** Its first operand, or what `-e` gives, is a script in sed's language. */
      readonly script?: 'sed';
    };

/** The first operand is a script. Options that are not here may take it for their value, so behind them nothing is known. */
export interface ScriptOperand {
  /** For whom of the entry it is so; all when absent. */
  readonly names?: readonly string[];
  /** Letters that stand alone, also in a cluster. */
  readonly flags: string;
  /** Letters at the end of a cluster whose value is the next argument. */
  readonly valued?: string;
  /** Long options without a value. */
  readonly long?: readonly string[];
  /** Long options with a value behind `=` that names no code. */
  readonly longValued?: readonly string[];
}

export interface Subcommands {
  /** Those that start no hook, editor or alias; every other one is refused. */
  readonly harmless: readonly string[];
  /** Before the subcommand, and only there. */
  readonly global: CodeOptions;
  /** Global options whose value is the next argument. */
  readonly globalValued: readonly string[];
  readonly perCommand: Readonly<Record<string, CodeOptions>>;
}
