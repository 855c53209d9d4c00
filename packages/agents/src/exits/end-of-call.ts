import { errorWords, type SaidError, whyWords } from './error-words.ts';
import { exitCodeOfCode } from './exit-codes.ts';
import { type EndedCall, exitOfOutcome, OWN_EXITS } from './exit-of-outcome.ts';

/** All that a shell is told of the end of a command. */
export interface ToldEnd {
  readonly exit: number;
  /** For standard error. */
  readonly words: string;
}

/** The same that `palyra exec` ends with where standard error is no terminal. */
export function endOf(call: EndedCall): ToldEnd {
  return { exit: exitOfOutcome(call), words: whyWords(call) };
}

/** Of a command that nobody could come for. */
export function endOfError(error: SaidError): ToldEnd {
  return { exit: OWN_EXITS + exitCodeOfCode(error.code), words: errorWords(error) };
}
