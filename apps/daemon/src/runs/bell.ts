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
  // Most of the time nobody waits, or one: less than a set takes.
  #waiting: (() => void)[] | undefined;
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
      this.#waiting ??= [];
      if (signal === undefined) {
        this.#waiting.push(resolve);
        return;
      }
      const wake = () => {
        this.#waiting = this.#waiting?.filter((each) => each !== wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.push(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}
