/** Which directory it was, and when it was looked at. */
export interface Sighting {
  /** Taken before anything else was looked at: what is put there meanwhile is another one. */
  readonly identity: string | undefined;
  readonly at: number;
}

/** How long it counts what lies around a directory, as long as the directory itself is the same one. */
const SURROUNDINGS_MS = 1000;
/** SECURITY: T-39 — agents name any directory as the one they are in; beyond this the one known longest is forgotten. */
const MOST_KNOWN = 64;

/**
 * SECURITY: T-14 — a directory that was swapped for another, or for a link, is looked at again. T-41 — and all of them after a
 * second, for a home may have been put around it; a clock that was set back makes nothing younger.
 */
export function isRecent(before: Sighting, { at, identity }: Sighting): boolean {
  if (identity === undefined || before.identity !== identity) return false;
  return at >= before.at && at - before.at < SURROUNDINGS_MS;
}

export function remember<Found>(known: Map<string, Found>, name: string, found: Found): void {
  const [oldest] = known.keys();
  if (!known.has(name) && known.size >= MOST_KNOWN && oldest !== undefined) known.delete(oldest);
  known.set(name, found);
}
