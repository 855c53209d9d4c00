/** Long input is never a slip of the finger, and the distance costs length squared. */
const LONGEST_NAME = 64;

/** The candidate a person most likely meant, or nothing when none is close: a bad hint is worse than none. */
export function nearestName(written: string, candidates: readonly string[]): string | undefined {
  if (written.length > LONGEST_NAME) return undefined;

  const lowered = written.toLowerCase();
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of candidates) {
    const distance = editDistance(lowered, name.toLowerCase());
    const tolerated = Math.min(3, Math.floor(Math.max(lowered.length, name.length) / 2.5));
    if (distance <= tolerated && (best === undefined || distance < best.distance)) best = { name, distance };
  }
  return best?.name ?? candidates.find((name) => isShortened(lowered, name.toLowerCase()));
}

/** `warning` for `warn`, `conf` for `config`: far apart in letters, not in what is meant. */
function isShortened(a: string, b: string): boolean {
  return Math.min(a.length, b.length) >= 3 && (a.startsWith(b) || b.startsWith(a));
}

/** Optimal string alignment: insert, delete, replace, or swap two neighbours. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = at(last, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, replaced);
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
