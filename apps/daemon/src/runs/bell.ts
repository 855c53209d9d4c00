/** Tells those who wait that something changed; what they find is theirs to look at. */
export interface Bell {
  /** Taken before looking, so that what changes meanwhile is not missed. */
  rung(): number;
  ring(): void;
  /** Resolves when it has rung since then, or when the signal is given. Nothing of it is left behind. */
  wait(since: number, signal?: AbortSignal): Promise<void>;
}

export function createBell(): Bell {
  // Most of the time nobody waits: thousands of runs stand idle.
  let waiting: Set<() => void> | undefined;
  let rung = 0;
  return {
    // No getter: each object that has one has a shape of its own, which takes more than all the rest of it.
    rung: () => rung,
    ring() {
      rung += 1;
      const told = waiting;
      waiting = undefined;
      for (const wake of told ?? []) wake();
    },
    wait(since, signal) {
      if (rung !== since || signal?.aborted === true) return Promise.resolve();
      return new Promise((resolve) => {
        const wake = () => {
          waiting?.delete(wake);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        waiting ??= new Set();
        waiting.add(wake);
        signal?.addEventListener('abort', wake, { once: true });
      });
    },
  };
}
