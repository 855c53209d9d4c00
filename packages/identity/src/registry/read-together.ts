/** Reads what is asked for in one turn of the event loop with one query, begun after all of them asked. */
export interface Together<Value> {
  read(key: string): Promise<Value | undefined>;
}

/** One query reads so many. */
const AT_ONCE = 500;

/** What was asked before a query began is never answered by an older one: a change that was acknowledged is seen. */
export function createTogether<Value>(
  query: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): Together<Value> {
  let waiting: { readonly keys: Set<string>; readonly answer: Promise<ReadonlyMap<string, Value>> } | undefined;

  const begin = () => {
    const keys = new Set<string>();
    const answer = Promise.resolve().then(() => {
      waiting = undefined;
      return query([...keys]);
    });
    return { keys, answer };
  };

  return {
    async read(key) {
      if (waiting === undefined || waiting.keys.size >= AT_ONCE) waiting = begin();
      waiting.keys.add(key);
      return (await waiting.answer).get(key);
    },
  };
}
