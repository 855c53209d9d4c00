/** The roots that the log had at its latest checkpoints, and at those that are asked for, by size. */
export interface RootMemory {
  /** Whether it is asked for, also where the log has no checkpoint. */
  wants(size: number): boolean;
  remember(size: number, root: Uint8Array): void;
  /** Undefined when it is not remembered, or the log had no checkpoint there and nobody asked. */
  at(size: number): Uint8Array | undefined;
}

interface RootMemoryOptions {
  /** Sizes whose roots are not forgotten. */
  readonly wanted?: readonly number[];
  readonly limit?: number;
}

const REMEMBERED = 20_000;
/** Of those that are wanted, the largest: the newest cosignature of each witness is the one that counts. */
const MOST_WANTED = 100_000;

export function createRootMemory({ wanted = [], limit = REMEMBERED }: RootMemoryOptions = {}): RootMemory {
  const asked = new Set(wanted.toSorted((one, other) => other - one).slice(0, MOST_WANTED));
  const kept = new Map<number, Uint8Array>();
  const roots = new Map<number, Uint8Array>();
  return {
    wants: (size) => asked.has(size),
    remember(size, root) {
      if (asked.has(size)) {
        kept.set(size, root);
        return;
      }
      roots.set(size, root);
      if (roots.size <= limit) return;
      const [oldest] = roots.keys();
      if (oldest !== undefined) roots.delete(oldest);
    },
    at: (size) => kept.get(size) ?? roots.get(size),
  };
}
