/** What is to be sent on one connection, in order. */
export interface Outbox<T> {
  /** Resolves when the connection took it, and to false when it did not live that long. */
  push(item: T): Promise<boolean>;
  /** What the connection takes from; ends when the outbox is closed. */
  readonly taken: AsyncIterable<T>;
  close(): void;
}

interface Waiting<T> {
  readonly item: T;
  settle(wasTaken: boolean): void;
}

export function createOutbox<T>(): Outbox<T> {
  const waiting: Waiting<T>[] = [];
  let isClosed = false;
  let wake = (): void => undefined;

  async function next(): Promise<IteratorResult<T, undefined>> {
    while (!isClosed) {
      const first = waiting.shift();
      if (first !== undefined) {
        first.settle(true);
        return { done: false, value: first.item };
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return { done: true, value: undefined };
  }
  function close(): void {
    isClosed = true;
    for (const { settle } of waiting.splice(0)) settle(false);
    wake();
  }
  async function stop(): Promise<IteratorResult<T, undefined>> {
    close();
    return { done: true, value: undefined };
  }
  return {
    push(item) {
      if (isClosed) return Promise.resolve(false);
      const taken = new Promise<boolean>((settle) => waiting.push({ item, settle }));
      wake();
      return taken;
    },
    // Not a generator: one that waits for its next item cannot be told to stop. Connect asks for `throw`.
    taken: {
      [Symbol.asyncIterator]: () => ({
        next,
        return: stop,
        throw: stop,
      }),
    },
    close,
  };
}
