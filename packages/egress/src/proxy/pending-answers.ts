/** Questions over the wire: each has a number, and its answer comes with it. */
export interface PendingAnswers<Answer> {
  wait(ask: (id: number) => void): Promise<Answer>;
  /** An answer that nobody waits for is dropped. */
  give(id: number, answer: Answer): void;
  fail(id: number, error: Error): void;
}

export function createPendingAnswers<Answer>(): PendingAnswers<Answer> {
  const pending = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();
  let last = 0;
  return {
    wait(ask) {
      last += 1;
      const id = last;
      return new Promise((resolve, reject) => {
        pending.set(id, { resolve, reject });
        ask(id);
      });
    },
    give(id, answer) {
      pending.get(id)?.resolve(answer);
      pending.delete(id);
    },
    fail(id, error) {
      pending.get(id)?.reject(error);
      pending.delete(id);
    },
  };
}
