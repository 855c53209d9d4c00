export { endOf, endOfError, type ToldEnd } from './end-of-call.ts';
export { errorWords, type Mark, type SaidError, whyWords } from './error-words.ts';
export { EXIT_CODES, type ExitCode, exitCodeOf, exitCodeOfCode } from './exit-codes.ts';
export { type EndedCall, exitOfOutcome, OWN_EXITS } from './exit-of-outcome.ts';
