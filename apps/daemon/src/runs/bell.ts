/** Tells those who wait that something changed; what they find is theirs to look at. */
export interface Bell {
  /** Taken before looking, so that what changes meanwhile is not missed. */
  rung(): number;
  ring(): void;
  /** Resolves when it has rung since then, or when the signal is given. Nothing of it is left behind. */
  wait(since: number, signal?: AbortSignal): Promise<void>;
}

export function createBell(): Bell {
  return new RungBell();
}

/** A class: thousands of runs stand idle, and closures of each would take more than what they hold. */
class RungBell implements Bell {
  // Most of the time nobody waits.
  #waiting: Set<() => void> | undefined;
  #rung = 0;

  rung(): number {
    return this.#rung;
  }

  ring(): void {
    this.#rung += 1;
    const told = this.#waiting;
    this.#waiting = undefined;
    for (const wake of told ?? []) wake();
  }

  wait(since: number, signal?: AbortSignal): Promise<void> {
    if (this.#rung !== since || signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting?.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting ??= new Set();
      this.#waiting.add(wake);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }
}
