import { expect, test } from 'vitest';
import type { AskAnswer } from '../egress-call.ts';
import type { Target } from '../hosts/target.ts';
import { createQuestions } from './questions.ts';

interface Asked {
  readonly target: Target;
  readonly signal: AbortSignal;
  answer(answer: AskAnswer): void;
  fail(): void;
}

function asking(most = 16) {
  const asked: Asked[] = [];
  const questions = createQuestions({
    most,
    ask: (target, signal) =>
      new Promise((resolve, reject) => {
        asked.push({ target, signal, answer: resolve, fail: () => reject(new Error('nobody')) });
      }),
  });
  return { asked, questions };
}

function waiter() {
  const listeners: (() => void)[] = [];
  return {
    onGone: (listener: () => void) => void listeners.push(listener),
    leave() {
      for (const listener of listeners) listener();
    },
  };
}

const A = { host: 'a.example', port: 443 };

test('equal questions are one, and its answer holds for the call', async () => {
  const { asked, questions } = asking();
  const both = Promise.all([questions.ask(A, waiter()), questions.ask({ ...A, scheme: 'http' }, waiter())]);
  expect(asked.map(({ target }) => target)).toEqual([A]);
  asked[0]?.answer({ kind: 'allowed' });
  expect(await both).toEqual([{ kind: 'allowed' }, { kind: 'allowed' }]);
  expect(await questions.ask(A, waiter())).toEqual({ kind: 'allowed' });
  expect(asked).toHaveLength(1);
});

test('another port is another question', async () => {
  const { asked, questions } = asking();
  void questions.ask(A, waiter());
  void questions.ask({ ...A, port: 80 }, waiter());
  expect(asked).toHaveLength(2);
});

test('a question is withdrawn when the last who waited is gone, and put anew by the next', async () => {
  const { asked, questions } = asking();
  const [one, other] = [waiter(), waiter()];
  const answers = [questions.ask(A, one), questions.ask(A, other)];
  one.leave();
  expect(asked[0]?.signal.aborted).toBe(false);
  other.leave();
  expect(asked[0]?.signal.aborted).toBe(true);
  expect(await Promise.all(answers)).toEqual([undefined, undefined]);
  void questions.ask(A, waiter());
  expect(asked).toHaveLength(2);
});

test('no answer is a no, and stays one', async () => {
  const { asked, questions } = asking();
  const answer = questions.ask(A, waiter());
  asked[0]?.fail();
  expect(await answer).toMatchObject({ kind: 'denied', denial: { code: 'egress.denied', host: 'a.example' } });
  expect(await questions.ask(A, waiter())).toMatchObject({ kind: 'denied' });
});

test('so many different hosts and no more are asked about', async () => {
  const { asked, questions } = asking(2);
  void questions.ask({ host: 'a.example', port: 1 }, waiter());
  void questions.ask({ host: 'b.example', port: 1 }, waiter());
  expect(await questions.ask({ host: 'c.example', port: 1 }, waiter())).toMatchObject({
    kind: 'denied',
    denial: { code: 'egress.not_asked' },
  });
  expect(asked).toHaveLength(2);
});
