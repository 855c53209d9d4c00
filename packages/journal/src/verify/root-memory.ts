/** The roots that the log had at its latest checkpoints, by size. */
export interface RootMemory {
  remember(size: number, root: Uint8Array): void;
  /** Undefined when it is not remembered, or the log had no checkpoint there. */
  at(size: number): Uint8Array | undefined;
}

const REMEMBERED = 20_000;

export function createRootMemory(limit: number = REMEMBERED): RootMemory {
  const roots = new Map<number, Uint8Array>();
  return {
    remember(size, root) {
      roots.set(size, root);
      if (roots.size <= limit) return;
      const [oldest] = roots.keys();
      if (oldest !== undefined) roots.delete(oldest);
    },
    at: (size) => roots.get(size),
  };
}
