import { type PlayedSession, wrongWith } from './play-session.ts';
import { isAttested, stoppedBy } from './session-report.ts';

/** What a replay has to show. */
const CALLS = 200;
const MOST_QUESTIONS = 4;

/** Where a replay falls short of that, a line each: none is what everybody wants to see. */
export function shortfallsOf({ steps, attacks }: PlayedSession, planted: number): readonly string[] {
  const questions = steps.flatMap(({ questions: its }) => its);
  const unexpected = questions.filter(({ isExpected }) => !isExpected);
  return [
    ...(steps.length === CALLS ? [] : [`${steps.length} calls, and not ${CALLS}`]),
    ...(questions.length <= MOST_QUESTIONS ? [] : [`${questions.length} questions, and not ${MOST_QUESTIONS} at most`]),
    ...unexpected.map(({ policies }) => `nobody expected the question of ${policies.join(' ')}`),
    ...steps.flatMap((step) => {
      const why = wrongWith(step);
      return why === undefined ? [] : [`#${step.number} ${why}`];
    }),
    ...(attacks.length === planted ? [] : [`${attacks.length} attacks, and not ${planted}`]),
    ...attacks.flatMap((played) => {
      const { attack, harm } = played;
      return [
        ...(harm.length === 0 && stoppedBy(played) === attack.stopped
          ? []
          : [`${attack.id} was not stopped: ${harm.join(', ')}`]),
        ...(isAttested(played) ? [] : [`${attack.id} is not in the journal`]),
      ];
    }),
  ];
}
