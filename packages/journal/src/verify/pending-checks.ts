import type { Finding } from './report.ts';

/** The answer of a check: at once, or later. */
export type Checked = Finding | undefined | Promise<Finding | undefined>;

/** Checks that are under way while the log is read on. None is waited for by itself, and there are never too many. */
export interface PendingChecks {
  add(position: number, check: Promise<Finding | undefined>): void;
  /** Undefined while there is room for more. */
  room(): Promise<void> | undefined;
  /** Whether any has found something, so that reading on finds nothing earlier. */
  hasFound(): boolean;
  /** Of all that found something, the one at the first position. Throws what a check threw. */
  settle(): Promise<Finding | undefined>;
}

interface Result {
  readonly position: number;
  readonly finding?: Finding;
  readonly thrown?: unknown;
}

export function createPendingChecks(limit: number): PendingChecks {
  let underWay = 0;
  let first: Result | undefined;
  let waiting: { readonly below: number; resolve(): void } | undefined;

  const keep = (result: Result) => {
    if (first === undefined || result.position < first.position) first = result;
  };
  const end = () => {
    underWay -= 1;
    if (waiting === undefined || underWay > waiting.below) return;
    const { resolve } = waiting;
    waiting = undefined;
    resolve();
  };
  const until = (below: number) =>
    new Promise<void>((resolve) => {
      waiting = { below, resolve };
    });

  return {
    add(position, check) {
      underWay += 1;
      check
        .then(
          (finding) => finding !== undefined && keep({ position, finding }),
          (thrown: unknown) => keep({ position, thrown }),
        )
        .finally(end);
    },
    // Half of them may still run while the next are made ready, so that neither side ever waits for the other.
    room: () => (underWay < limit ? undefined : until(Math.floor(limit / 2))),
    hasFound: () => first !== undefined,
    async settle() {
      if (underWay > 0) await until(0);
      if (first !== undefined && 'thrown' in first) throw first.thrown;
      return first?.finding;
    },
  };
}
