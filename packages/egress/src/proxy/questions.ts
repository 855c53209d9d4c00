import { denial } from '../denial.ts';
import type { AskAnswer } from '../egress-call.ts';
import { formatTarget, type Target } from '../hosts/target.ts';
import type { Line } from './line.ts';

/** The questions of one call. An answer holds for the rest of it. */
export interface Questions {
  /** Undefined when whoever waits is gone. */
  ask(target: Target, waiting: Pick<Line, 'onGone'>): Promise<AskAnswer | undefined>;
  close(): void;
}

export interface QuestionsDeps {
  readonly most: number;
  ask(target: Target, signal: AbortSignal): Promise<AskAnswer>;
}

interface Question {
  readonly answer: Promise<AskAnswer>;
  readonly withdrawn: AbortController;
  waiting: number;
  isAnswered: boolean;
}

export function createQuestions({ most, ask }: QuestionsDeps): Questions {
  const questions = new Map<string, Question>();
  let asked = 0;

  function put(key: string, target: Target): Question | undefined {
    if (asked >= most) return undefined;
    asked += 1;
    const withdrawn = new AbortController();
    const question: Question = { answer: answered(), withdrawn, waiting: 0, isAnswered: false };
    questions.set(key, question);
    return question;

    async function answered(): Promise<AskAnswer> {
      try {
        const answer = await ask({ host: target.host, port: target.port }, withdrawn.signal);
        question.isAnswered = true;
        return answer;
      } catch {
        // SECURITY: T-22 — no answer is a no.
        question.isAnswered = true;
        return { kind: 'denied', denial: denial('egress.denied', target) };
      }
    }
  }

  return {
    async ask(target, waiting) {
      const key = formatTarget(target);
      const question = questions.get(key) ?? put(key, target);
      // SECURITY: T-47 — a tool that asks for one name after the other wears the approver down, or writes with the names.
      if (question === undefined) return { kind: 'denied', denial: denial('egress.not_asked', target) };
      if (question.isAnswered) return question.answer;
      question.waiting += 1;
      const gone = new Promise<undefined>((resolve) => {
        waiting.onGone(() => {
          question.waiting -= 1;
          if (question.waiting === 0 && !question.isAnswered) {
            // Nobody would hear the answer. Who comes later asks anew.
            questions.delete(key);
            question.withdrawn.abort();
          }
          resolve(undefined);
        });
      });
      return Promise.race([question.answer, gone]);
    },
    close() {
      for (const question of questions.values()) question.withdrawn.abort();
      questions.clear();
    },
  };
}
