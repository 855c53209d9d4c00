/** Collects what is to be looked at and looks at it in groups, one after the other. */
export interface Looker {
  look(ids: Iterable<string>): void;
  /** How many are still to be looked at. */
  readonly size: number;
}

/** One query reads so many. */
const AT_ONCE = 500;

/** `lookAt` never throws. What is added while it runs is looked at after it, so no change is missed. */
export function createLooker(lookAt: (ids: readonly string[]) => Promise<void>): Looker {
  const toLook = new Set<string>();
  let isLooking = false;

  const lookUntilDone = async () => {
    while (toLook.size > 0) {
      const ids = Array.from(toLook).slice(0, AT_ONCE);
      for (const id of ids) toLook.delete(id);
      await lookAt(ids);
    }
    isLooking = false;
  };

  return {
    get size() {
      return toLook.size;
    },
    look(ids) {
      for (const id of ids) toLook.add(id);
      if (isLooking || toLook.size === 0) return;
      isLooking = true;
      // Whatever is told in this turn is read with one query.
      queueMicrotask(() => void lookUntilDone());
    },
  };
}
