/** What is to be sent on one connection, in order. */
export interface Outbox<T> {
  push(item: T): void;
  /** What the connection takes from; ends when the outbox is closed. */
  readonly items: AsyncIterable<T>;
  close(): void;
}

export function createOutbox<T>(): Outbox<T> {
  const waiting: T[] = [];
  let isClosed = false;
  let wake = (): void => undefined;

  async function next(): Promise<IteratorResult<T, undefined>> {
    for (;;) {
      const [first] = waiting.splice(0, 1);
      if (isClosed) return { done: true, value: undefined };
      if (first !== undefined) return { done: false, value: first };
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  function close(): void {
    isClosed = true;
    wake();
  }
  async function stop(): Promise<IteratorResult<T, undefined>> {
    close();
    return { done: true, value: undefined };
  }
  return {
    push(item) {
      waiting.push(item);
      wake();
    },
    // Not a generator: one that waits for its next item cannot be told to stop. Connect asks for `throw`.
    items: { [Symbol.asyncIterator]: () => ({ next, return: stop, throw: stop }) },
    close,
  };
}
