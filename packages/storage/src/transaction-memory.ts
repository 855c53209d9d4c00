/**
 * What a program knows from one unit to the next of the same transaction, so that it need not read what it has just
 * written, nor write before the seal what the next unit changes again. It is gone with the transaction, unless the program
 * says `keepsMemory`, and is taken back with a unit that is undone: replace the value, never change it.
 */
export interface TransactionMemory<Value> {
  get(): Value | undefined;
  set(value: Value | undefined): void;
}

/** Those of all programs in one transaction. */
export interface TransactionMemories {
  of(program: string): TransactionMemory<never>;
  /** Returns how to bring back what is remembered now. */
  mark(): () => void;
  /** What these programs know now. */
  only(programs: readonly string[]): ReadonlyMap<string, unknown>;
}

export function createMemories(known?: ReadonlyMap<string, unknown>): TransactionMemories {
  let values = new Map<string, unknown>(known);
  return {
    of: (program) => ({
      get: () => values.get(program) as undefined,
      set: (value: unknown) => void values.set(program, value),
    }),
    mark() {
      const marked = new Map(values);
      return () => {
        values = marked;
      };
    },
    only: (programs) => new Map(programs.map((program) => [program, values.get(program)])),
  };
}
