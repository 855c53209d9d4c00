import type { Clock } from '@palyra/primitives';

/** Outcomes that could not be recorded when they were known: a full disk, a locked database. */
export interface LateRecords {
  /** Tries again, later and later, until it does not throw. */
  keep(record: () => Promise<unknown>): void;
  readonly size: number;
  /** What is left then is settled at the next start, as not known. */
  close(): void;
}

const FIRST_MS = 250;
const LONGEST_MS = 30_000;
/** Each holds an outcome in memory; the row of one more is found at the next start. */
const MOST = 1_000;

export function createLateRecords(clock: Clock): LateRecords {
  const stop = new AbortController();
  let size = 0;
  const tryUntilDone = async (record: () => Promise<unknown>) => {
    for (let wait = FIRST_MS; ; wait = Math.min(2 * wait, LONGEST_MS)) {
      await clock.sleep(wait, stop.signal);
      const isDone = await record().then(
        () => true,
        () => false,
      );
      if (isDone) return;
    }
  };
  return {
    keep(record) {
      if (size >= MOST || stop.signal.aborted) return;
      size += 1;
      void tryUntilDone(record)
        .catch(() => undefined)
        .finally(() => {
          size -= 1;
        });
    },
    get size() {
      return size;
    },
    close: () => stop.abort(),
  };
}
