/**
 * What was used up or revoked while this process ran. The rows say so too, but whoever can write them can take it back.
 */
export interface SpentMemory {
  add(id: string): void;
  has(id: string): Promise<boolean>;
}

/** More than a home uses up while an approval holds; the oldest are forgotten. */
const MOST = 100_000;

/** `isRecorded` asks the signed record, for what happened before this process began. */
export function createSpentMemory(isRecorded: (id: string) => Promise<boolean>): SpentMemory {
  const known = new Set<string>();
  return {
    add(id) {
      known.add(id);
      if (known.size <= MOST) return;
      const [oldest] = known;
      if (oldest !== undefined) known.delete(oldest);
    },
    has: async (id) => known.has(id) || isRecorded(id),
  };
}
