import { visibleText } from '@palyra/primitives';
import { PolicyError, type PolicyErrorCode, type PolicyProblem } from './policy-error.ts';

/** Where a fault is; without a place, at the beginning of its file. */
export interface ProblemPlace {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
}

/** What is wrong with several files, told at once: an operator who mends one fault at a time gives up. */
export interface ProblemList {
  add(code: PolicyErrorCode, place: ProblemPlace, told: { readonly message: string; readonly fix?: string }): void;
  /** Runs `act`; a `PolicyError` that it throws is added, anything else goes on. */
  collect<Value>(place: ProblemPlace, act: () => Value): Value | undefined;
  /** Throws one `PolicyError` with everything that was added, under the code of the first. */
  throwAny(): void;
}

/** Nobody reads more, and a hostile file must not make us keep them. */
const MOST_PROBLEMS = 100;
const MOST_SHOWN = 20;

interface Told extends PolicyProblem {
  readonly code: PolicyErrorCode;
  readonly fix: string | undefined;
}

export function createProblemList(): ProblemList {
  const told: Told[] = [];
  let count = 0;
  const push = (problem: Told): void => {
    count += 1;
    if (told.length < MOST_PROBLEMS) told.push(problem);
  };
  return {
    add(code, { file, line = 1, column = 1 }, { message, fix }) {
      push({ code, file, line, column, message, fix });
    },
    collect(place, act) {
      try {
        return act();
      } catch (thrown) {
        if (!(thrown instanceof PolicyError)) throw thrown;
        const { code, message, fix, problems } = thrown;
        if (problems.length === 0) push({ code, line: 1, column: 1, ...place, message, fix });
        for (const problem of problems) push({ ...problem, code, fix: problems.length === 1 ? fix : undefined });
        return undefined;
      }
    },
    throwAny() {
      const [first] = told;
      if (first === undefined) return;
      const problems = told.map(({ file, line, column, message }) => ({ file, line, column, message }));
      const fix = count === 1 ? first.fix : 'Correct the places named above.';
      throw new PolicyError(first.code, sentenceOf(told, count), { ...(fix === undefined ? {} : { fix }), problems });
    },
  };
}

function sentenceOf(told: readonly Told[], count: number): string {
  if (count === 1) return told.map((problem) => `${placeOf(problem)}: ${problem.message}`).join('');
  const lines = told.slice(0, MOST_SHOWN).flatMap((problem) => {
    const line = `  ${placeOf(problem)}: ${problem.message}`;
    return problem.fix === undefined ? [line] : [line, `    ${problem.fix}`];
  });
  const rest = count > MOST_SHOWN ? [`  and ${count - MOST_SHOWN} more`] : [];
  return [`There are ${count} problems:`, ...lines, ...rest].join('\n');
}

function placeOf({ file, line, column }: PolicyProblem): string {
  return `${visibleText(file)}:${line}:${column}`;
}
