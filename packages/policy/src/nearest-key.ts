/** The key a person most likely meant, or nothing when none is close: a bad hint is worse than none. */
export function nearestKey(written: string, keys: readonly string[]): string | undefined {
  // Long input is never a slip of the finger, and the distance costs length squared.
  if (written.length > 40) return undefined;
  const [best] = keys
    .map((key) => ({ key, distance: editDistance(written.toLowerCase(), key) }))
    .filter(({ key, distance }) => distance <= Math.min(3, Math.floor(Math.max(written.length, key.length) / 2.5)))
    .toSorted((a, b) => a.distance - b.distance);
  return best?.key;
}

/** Insert, delete or replace. */
function editDistance(a: string, b: string): number {
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (last[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, replaced));
    }
    last = current;
  }
  return last[b.length] ?? 0;
}
