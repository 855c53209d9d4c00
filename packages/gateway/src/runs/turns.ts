/** Calls that are safe beside one another share; any other has the run for itself. In the order in which they came. */
export interface Turns {
  take<Result>(turn: Turn, act: () => Promise<Result>): Promise<Result>;
  /** Whether it is this call's turn now. */
  isActing(id: string): boolean;
}

export interface Turn {
  /** Of the call. */
  readonly id: string;
  readonly how: 'shared' | 'alone';
  /** The call that makes this one. */
  readonly parent: string | undefined;
}

/**
 * A nested call comes within the turn of its parent, which waits for it: behind others it would wait for whoever waits for
 * its parent, for ever. It takes turns with its siblings; beside what else they may run is for the parent to declare.
 */
export function createTurns(): Turns {
  const all = createQueue();
  const withinTurns = new Map<string, Queue>();
  return {
    isActing: (id) => withinTurns.has(id),
    take({ id, how, parent }, act) {
      const { take } = withinTurns.get(parent ?? '') ?? all;
      return take(how, async () => {
        withinTurns.set(id, createQueue());
        try {
          return await act();
        } finally {
          withinTurns.delete(id);
        }
      });
    },
  };
}

interface Queue {
  take<Result>(how: Turn['how'], act: () => Promise<Result>): Promise<Result>;
}

function createQueue(): Queue {
  /** Resolves when everything before may be followed by one that is alone; never rejects. */
  let allBefore: Promise<unknown> = Promise.resolve();
  /** Resolves when the last one that was alone is over. */
  let lastAlone: Promise<unknown> = Promise.resolve();
  return {
    take(how, act) {
      const acting = (how === 'alone' ? allBefore : lastAlone).then(act);
      const over = acting.catch(() => undefined);
      allBefore = Promise.all([allBefore, over]);
      if (how === 'alone') lastAlone = over;
      return acting;
    },
  };
}
