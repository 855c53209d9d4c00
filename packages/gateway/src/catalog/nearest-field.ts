/** Long input is never a slip of the finger, and the distance costs length squared. */
const LONGEST = 64;

/** The field that was most likely meant, or nothing when none is close: a bad hint is worse than none. */
export function nearestField(written: string, fields: readonly string[]): string | undefined {
  if (written.length > LONGEST) return undefined;
  const plain = plainName(written);
  const [best] = fields
    .map((field) => ({ field, distance: editDistance(plain, plainName(field)) }))
    .filter(({ field, distance }) => distance <= Math.min(3, Math.floor(Math.max(plain.length, field.length) / 2.5)))
    .toSorted((a, b) => a.distance - b.distance);
  return best?.field;
}

/** `timeoutMs` and `timeout-ms` mean `timeout_ms`. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '');
}

/** Insert, delete or replace. */
function editDistance(a: string, b: string): number {
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (last[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, replaced));
    }
    last = current;
  }
  return last[b.length] ?? 0;
}
