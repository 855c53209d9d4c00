/** So many at once, so many more who wait. */
export interface Turns {
  /** False when too many wait already. Who got one gives it back. */
  take(): Promise<boolean>;
  /** Whether one was free; nobody waits. */
  takeFree(): boolean;
  giveBack(): void;
  taken(): number;
  /** Everybody who waits goes on, turn or not: there is nothing left to wait for. */
  dismiss(): void;
}

export function createTurns({ atOnce, waiting }: { readonly atOnce: number; readonly waiting: number }): Turns {
  const queue: (() => void)[] = [];
  let taken = 0;
  const takeFree = () => {
    if (taken >= atOnce) return false;
    taken += 1;
    return true;
  };
  return {
    taken: () => taken,
    takeFree,
    async take() {
      if (takeFree()) return true;
      if (queue.length >= waiting) return false;
      await new Promise<void>((resolve) => queue.push(resolve));
      return true;
    },
    /** It goes to the next who waits, or is free: between the two nobody can slip in. */
    giveBack() {
      const next = queue.shift();
      if (next === undefined) taken -= 1;
      else next();
    },
    dismiss() {
      for (const go of queue.splice(0)) go();
    },
  };
}
