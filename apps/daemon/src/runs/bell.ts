/** Tells those who wait that something changed; what they find is theirs to look at. */
export interface Bell {
  /** Taken before looking, so that what changes meanwhile is not missed. */
  readonly rung: number;
  ring(): void;
  /** Resolves when it has rung since then, or when the signal is given. Nothing of it is left behind. */
  wait(since: number, signal?: AbortSignal): Promise<void>;
}

export function createBell(): Bell {
  const waiting = new Set<() => void>();
  let rung = 0;
  return {
    get rung() {
      return rung;
    },
    ring() {
      rung += 1;
      if (waiting.size === 0) return;
      const told = [...waiting];
      waiting.clear();
      for (const wake of told) wake();
    },
    wait(since, signal) {
      if (rung !== since || signal?.aborted === true) return Promise.resolve();
      return new Promise((resolve) => {
        const wake = () => {
          waiting.delete(wake);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        waiting.add(wake);
        signal?.addEventListener('abort', wake, { once: true });
      });
    },
  };
}
