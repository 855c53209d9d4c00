import type { Clock } from '@palyra/primitives';
import type { FileWorker } from './file-worker.ts';

export interface IdleWorker {
  readonly worker: FileWorker;
  /** Which box it is in. */
  readonly key: string;
  /** Requests so far. */
  readonly served: number;
}

/** Workers without a request. Each waits for one as long as it may, and is then let go. */
export interface IdleWorkers {
  put(entry: IdleWorker): void;
  /** The latest that is in this box, or in any. */
  take(key?: string): IdleWorker | undefined;
  count(): number;
  clear(): void;
}

export interface IdleOptions {
  readonly clock: Clock;
  readonly idleMs: number;
  letGo(worker: FileWorker): void;
}

export function createIdleWorkers({ clock, idleMs, letGo }: IdleOptions): IdleWorkers {
  const waiting = new Map<IdleWorker, AbortController>();
  const remove = (entry: IdleWorker | undefined) => {
    if (entry === undefined) return undefined;
    // With a word, or an exception with its stack is made of it, for nobody.
    waiting.get(entry)?.abort('taken');
    waiting.delete(entry);
    return entry;
  };
  return {
    put(entry) {
      const found = new AbortController();
      waiting.set(entry, found);
      clock.sleep(idleMs, found.signal).then(
        () => {
          if (remove(entry) !== undefined) letGo(entry.worker);
        },
        () => {},
      );
    },
    take: (key) => remove([...waiting.keys()].findLast((entry) => key === undefined || entry.key === key)),
    count: () => waiting.size,
    clear() {
      for (const entry of waiting.keys()) remove(entry);
    },
  };
}
