/** Calls that are safe beside one another share; any other has the run for itself. In the order in which they came. */
export interface Turns {
  take<Result>(how: 'shared' | 'alone', act: () => Promise<Result>): Promise<Result>;
}

const nothing = (): undefined => undefined;

export function createTurns(): Turns {
  /** Resolves when everything before may be followed by one that is alone; never rejects. */
  let allBefore: Promise<unknown> = Promise.resolve();
  /** Resolves when the last one that was alone is over. */
  let lastAlone: Promise<unknown> = Promise.resolve();
  return {
    take(how, act) {
      const acting = (how === 'alone' ? allBefore : lastAlone).then(act);
      // Without what came of them: a run would hold the outputs of all its calls until it ends.
      const over = acting.then(nothing, nothing);
      allBefore = Promise.all([allBefore, over]).then(nothing);
      if (how === 'alone') lastAlone = over;
      return acting;
    },
  };
}
